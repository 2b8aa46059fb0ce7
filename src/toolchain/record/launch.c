// SPDX-License-Identifier: Apache-2.0
// Launches of a recording: configurations, and what stands in the parameters.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plan/names.h"
#include "toolchain/record/private.h"

// A log is small compared with what it may ask for, so the sums are limited too.
enum { MAX_ALL_ARGUMENTS = 1 << 20, MAX_ALL_POINTERS = 1 << 20 };

// One launch at work: what is needed to name an argument in a message.
struct launch {
  const struct reader_kernel *kernel;
  struct record_stamp stamp;
  int step;
};

static bool refuse_argument(struct record_reader *r, const struct launch *l, int index, const char *fmt, ...)
    ASSAY_PRINTF(4, 5);
static bool refuse_argument(struct record_reader *r, const struct launch *l, int index, const char *fmt, ...) {
  char text[256], shown[PLAN_SHOWN_BYTES];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  return reader_refuse(r, "launch of %s: kernel argument %d %s", plan_shown(l->kernel->label, shown), index, text);
}

// The place that a word of an argument points into; *place stays NULL when it is not an address. Where `doubt` is not
// NULL, it may be one that cannot be meant.
static bool find_pointer(struct record_reader *r, const struct launch *l, int index, uint64_t word,
                         struct place **place, int64_t *offset, enum plan_doubt *doubt) {
  char shown[PLAN_SHOWN_BYTES];
  *place = NULL;
  enum found found = places_find(&r->places, word, place, offset);
  if (doubt)
    *doubt = found == FOUND_FREED ? PLAN_FREED : found == FOUND_OUTSIDE ? PLAN_OUTSIDE : PLAN_NO_DOUBT;
  if (found == FOUND_NONE || found == FOUND_INSIDE || doubt)
    return true;
  plan_shown(place_name(&r->places, *place), shown);
  if (found == FOUND_FREED)
    return refuse_argument(r, l, index, "points into %s, which was freed", shown);
  return refuse_argument(r, l, index, "points to %s%+" PRId64 " bytes, outside of its %" PRIu64 " bytes", shown,
                         *offset, (*place)->bytes);
}

bool reader_on_word(struct record_reader *r, const struct record_word *e) {
  if (e->at > PLAN_MAX_ARGUMENT_BYTES || (r->n_words > 0 && e->at <= r->words[r->n_words - 1].at))
    return reader_damaged(r, "a word of no launch");
  if (r->n_words == r->word_capacity) {
    void *grown = arena_grow(&r->arena, r->words, r->n_words, &r->word_capacity, sizeof *r->words);
    if (!grown)
      return reader_exhausted(r);
    r->words = grown;
  }
  r->words[r->n_words++] = *e;
  return true;
}

// What the log says of the word there; NULL: nothing.
static const struct record_word *word_at(const struct record_reader *r, uint32_t at) {
  size_t low = 0, high = r->n_words;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (r->words[middle].at < at)
      low = middle + 1;
    else
      high = middle;
  }
  return low < r->n_words && r->words[low].at == at ? &r->words[low] : NULL;
}

// Words at multiples of 8 that are addresses become pointers, inside structs too. `parameter`: where it begins among
// the launch's.
static bool find_pointers(struct record_reader *r, const struct launch *l, int index, uint32_t parameter,
                          uint8_t *bytes, uint32_t size, struct plan_argument *out) {
  size_t capacity = 0;
  struct plan_pointer *pointers = NULL;
  bool may_doubt = r->one_of_two && size > 8; // what is alone is meant
  for (uint32_t at = 0; at + 8 <= size; at += 8) {
    uint64_t word;
    struct place *place;
    int64_t offset = 0;
    enum plan_doubt doubt = PLAN_NO_DOUBT;
    memcpy(&word, bytes + at, sizeof word);
    const struct record_word *said = word_at(r, parameter + at);
    if (!find_pointer(r, l, index, word, &place, &offset, may_doubt ? &doubt : NULL))
      return false;
    if (!place && said && said->unseen && may_doubt)
      doubt = PLAN_UNSEEN;
    if (!place && !doubt)
      continue;
    if (doubt == PLAN_NO_DOUBT && !reader_use_place(r, place, l->stamp, l->step))
      return false;
    if (++r->n_pointers > MAX_ALL_POINTERS)
      return reader_refuse(r, "its launches pass more than %d pointers", MAX_ALL_POINTERS);
    if ((size_t)out->n_pointers == capacity) {
      void *grown = arena_grow(&r->plan->arena, pointers, capacity, &capacity, sizeof *pointers);
      if (!grown)
        return reader_exhausted(r);
      pointers = grown;
    }
    pointers[out->n_pointers++] =
        (struct plan_pointer){at, place ? place->buffer : 0, offset, said ? said->word : word, doubt};
    memset(bytes + at, 0, sizeof word);
  }
  out->pointers = pointers;
  return true;
}

// The number of a tensor map's token, or -1.
static int64_t token_number(const uint8_t *bytes, uint32_t size) {
  const size_t n = strlen(RECORD_TOKEN);
  if (size < RECORD_TOKEN_BYTES || memcmp(bytes, RECORD_TOKEN, n) != 0)
    return -1;
  int64_t number = 0;
  for (const uint8_t *p = bytes + n; p < bytes + RECORD_TOKEN_BYTES && *p >= '0' && *p <= '9' && number < INT32_MAX;
       p++)
    number = number * 10 + (*p - '0');
  return number;
}

bool reader_has_token(const uint8_t *bytes, size_t n) {
  return memmem(bytes, n, RECORD_TOKEN, strlen(RECORD_TOKEN)) != NULL;
}

static bool tensor_map_argument(struct record_reader *r, const struct launch *l, int index, int64_t number,
                                struct plan_argument *out) {
  if (number >= (int64_t)r->n_maps)
    return refuse_argument(r, l, index, "is a tensor map that was not encoded");
  const struct record_tensor_map *m = &r->maps[number];
  struct place *place;
  int64_t offset = 0;
  if (!find_pointer(r, l, index, m->address, &place, &offset, NULL))
    return false;
  if (!place)
    return refuse_argument(r, l, index, "is a tensor map of 0x%" PRIx64 ", which is not an address of the device",
                           m->address);
  struct plan_tensor_map *map = arena_alloc(&r->plan->arena, sizeof *map);
  if (!map)
    return reader_exhausted(r);
  *map = (struct plan_tensor_map){.buffer = place->buffer,
                                  .offset = offset,
                                  .data_type = m->data_type,
                                  .rank = m->rank,
                                  .interleave = m->interleave,
                                  .swizzle = m->swizzle,
                                  .l2_promotion = m->l2_promotion,
                                  .oob_fill = m->oob_fill};
  memcpy(map->dims, m->dims, sizeof map->dims);
  memcpy(map->strides, m->strides, sizeof map->strides);
  memcpy(map->box, m->box, sizeof map->box);
  memcpy(map->element_strides, m->element_strides, sizeof map->element_strides);
  *out = (struct plan_argument){.kind = PLAN_TENSOR_MAP, .size = RECORD_TOKEN_BYTES, .map = map};
  return reader_use_place(r, place, l->stamp, l->step);
}

static bool make_argument(struct record_reader *r, const struct launch *l, int index, uint32_t parameter,
                          const uint8_t *bytes, uint32_t size, struct plan_argument *out) {
  int64_t token = token_number(bytes, size);
  if (token >= 0 && size == RECORD_TOKEN_BYTES)
    return tensor_map_argument(r, l, index, token, out);
  if (reader_has_token(bytes, size))
    return refuse_argument(r, l, index,
                           "has a tensor map inside a struct: pass it as a parameter of its own (const "
                           "__grid_constant__ CUtensorMap)");
  uint8_t *copy = arena_alloc(&r->plan->arena, size);
  if (!copy)
    return reader_exhausted(r);
  memcpy(copy, bytes, size);
  *out = (struct plan_argument){.kind = PLAN_BYTES, .size = size, .bytes = copy};
  return find_pointers(r, l, index, parameter, copy, size, out);
}

bool reader_on_launch(struct record_reader *r, const struct record_launch *e, const uint8_t *rest, size_t n) {
  struct launch l = {.step = r->plan->n_steps};
  if (e->kernel >= r->n_kernels)
    return reader_damaged(r, "a launch of no kernel");
  l.kernel = &r->kernels[e->kernel];
  const struct cubin_kernel *cubin = l.kernel->cubin;
  if (cubin->n_parameters > PLAN_MAX_ARGUMENTS)
    return reader_refuse(r, "a kernel has more than %d parameters", PLAN_MAX_ARGUMENTS);
  r->n_arguments += (size_t)cubin->n_parameters;
  if (r->n_arguments > MAX_ALL_ARGUMENTS)
    return reader_refuse(r, "its launches have more than %d arguments", MAX_ALL_ARGUMENTS);
  struct plan_argument *arguments = arena_calloc(&r->plan->arena, (size_t)cubin->n_parameters, sizeof *arguments);
  if (!arguments)
    return reader_exhausted(r);
  struct plan_step *s = reader_add_step(r, PLAN_LAUNCH, e->stream, &l.stamp);
  if (!s)
    return false;
  s->module = l.kernel->module;
  s->kernel = l.kernel->name;
  s->label = l.kernel->label;
  memcpy(s->grid, e->grid, sizeof s->grid);
  memcpy(s->block, e->block, sizeof s->block);
  memcpy(s->cluster, e->cluster, sizeof s->cluster);
  s->shared_bytes = e->shared_bytes;
  s->cooperative = e->flags & RECORD_COOPERATIVE;
  s->programmatic = e->flags & RECORD_PROGRAMMATIC;
  s->carveout = e->carveout;
  s->n_arguments = cubin->n_parameters;
  s->arguments = arguments;
  if (!reader_check_order(r, &r->modules[s->module].set, "global variables", l.stamp, l.step))
    return false;
  reader_note_use(&r->modules[s->module].launched, l.stamp, l.step);
  for (int i = 0; i < cubin->n_parameters; i++) {
    struct cubin_parameter p = cubin->parameters[i];
    if (p.offset > n || p.size > n - p.offset)
      return reader_damaged(r, "a launch with too few parameters");
    if (!make_argument(r, &l, i, p.offset, rest + p.offset, p.size, &arguments[i]))
      return false;
  }
  r->n_words = 0;
  return true;
}

bool reader_on_tensor_map(struct record_reader *r, const struct record_tensor_map *e) {
  if (r->n_maps == r->map_capacity) {
    void *grown = arena_grow(&r->arena, r->maps, r->n_maps, &r->map_capacity, sizeof *r->maps);
    if (!grown)
      return reader_exhausted(r);
    r->maps = grown;
  }
  r->maps[r->n_maps++] = *e;
  return true;
}
