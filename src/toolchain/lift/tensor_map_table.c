// SPDX-License-Identifier: Apache-2.0
#include "toolchain/lift/tensor_map_table.h"

#include <string.h>

void tensor_map_table_release(struct tensor_map_table *t) {
  arena_release(&t->arena);
  *t = (struct tensor_map_table){0};
}

void tensor_map_table_begin(struct tensor_map_table *t) {
  t->n_logged = 0;
  for (size_t i = 0; i < t->n_maps; i++)
    t->maps[i].number = -1;
}

void tensor_map_table_add(struct tensor_map_table *t, const struct call_tensor_map *c) {
  if (t->n_maps == t->capacity) {
    void *more = arena_grow(&t->arena, t->maps, t->n_maps, &t->capacity, sizeof *t->maps);
    if (!more)
      return;
    t->maps = more;
  }
  if (c->rank < 1 || c->rank > 5)
    return;
  struct known_map *m = &t->maps[t->n_maps++];
  *m = (struct known_map){.number = -1};
  memcpy(m->bytes, c->map, sizeof m->bytes);
  m->arguments = (struct record_tensor_map){.address = (uint64_t)(uintptr_t)c->address,
                                            .data_type = (uint32_t)c->type,
                                            .rank = c->rank,
                                            .interleave = (uint32_t)c->interleave,
                                            .swizzle = (uint32_t)c->swizzle,
                                            .l2_promotion = (uint32_t)c->promotion,
                                            .oob_fill = (uint32_t)c->fill};
  memcpy(m->arguments.dims, c->dims, c->rank * sizeof *c->dims);
  memcpy(m->arguments.strides, c->strides, (c->rank - 1) * sizeof *c->strides);
  memcpy(m->arguments.box, c->box, c->rank * sizeof *c->box);
  memcpy(m->arguments.element_strides, c->element_strides, c->rank * sizeof *c->element_strides);
}

struct known_map *tensor_map_table_find(struct tensor_map_table *t, const uint8_t *bytes) {
  for (size_t i = t->n_maps; i-- > 0;)
    if (memcmp(bytes, t->maps[i].bytes, sizeof t->maps[i].bytes) == 0)
      return &t->maps[i];
  return NULL;
}

void tensor_map_token(uint8_t bytes[RECORD_TOKEN_BYTES], int number) {
  char digits[12];
  size_t n = strlen(RECORD_TOKEN), count = 0;
  memset(bytes, 0, RECORD_TOKEN_BYTES);
  memcpy(bytes, RECORD_TOKEN, n);
  for (int left = number; count == 0 || left > 0; left /= 10)
    digits[count++] = (char)('0' + left % 10);
  while (count > 0)
    bytes[n++] = (uint8_t)digits[--count];
}
