// SPDX-License-Identifier: Apache-2.0
#include "judge/draws.h"

#include <string.h>

#include "base/alloc.h"

enum { FEW = 64 }; // numbers of a row

bool draws_in(const struct task *t) {
  const struct graph *g = &t->model.flat;
  for (int i = 0; i < g->n_nodes; i++)
    if (strcmp(g->nodes[i].domain, "ai.assay") == 0 && strncmp(g->nodes[i].op_type, "Seeded", strlen("Seeded")) == 0)
      return true;
  return false;
}

bool draws_is_noted(const struct tensor_type *output) {
  return dtype_is_float(output->dtype) && output->shape.rank == 2 && output->shape.dims[1] >= FEW;
}

int64_t draws_rows(const struct layout *l) {
  int64_t n = 0;
  for (int o = 0; o < l->n_out; o++)
    n += draws_is_noted(&l->out[o]) ? l->out[o].shape.dims[0] : 0;
  return n;
}

static uint64_t hash_of_block(const unsigned char *bytes, size_t n) {
  uint64_t hash = n;
  for (size_t i = 0; i < n; i += sizeof hash) {
    uint64_t word = 0;
    memcpy(&word, bytes + i, n - i < sizeof word ? n - i : sizeof word);
    hash = rng_mix64(hash ^ word);
  }
  return hash;
}

int64_t draws_blocks(int64_t row_bytes) {
  return (row_bytes + DRAWS_BLOCK_BYTES - 1) / DRAWS_BLOCK_BYTES;
}

static uint64_t join(uint64_t hash, uint64_t block) {
  return rng_mix64(hash ^ block);
}

uint64_t draws_join(int64_t row_bytes, const uint64_t *blocks) {
  uint64_t hash = (uint64_t)row_bytes;
  for (int64_t i = 0; i < draws_blocks(row_bytes); i++)
    hash = join(hash, blocks[i]);
  return hash;
}

static uint64_t hash_of_row(const unsigned char *bytes, int64_t n) {
  uint64_t hash = (uint64_t)n;
  for (int64_t at = 0; at < n; at += DRAWS_BLOCK_BYTES) {
    const int64_t left = n - at;
    hash = join(hash, hash_of_block(bytes + at, (size_t)(left < DRAWS_BLOCK_BYTES ? left : DRAWS_BLOCK_BYTES)));
  }
  return hash;
}

void draws_hash(const struct layout *l, const void *const *outputs, uint64_t *rows) {
  for (int o = 0; o < l->n_out; o++) {
    const struct shape *s = &l->out[o].shape;
    if (!draws_is_noted(&l->out[o]))
      continue;
    const int64_t bytes = s->dims[1] * (int64_t)dtype_bytes(l->out[o].dtype);
    for (int64_t row = 0; row < s->dims[0]; row++)
      *rows++ = hash_of_row((const unsigned char *)outputs[o] + row * bytes, bytes);
  }
}

static const char *compare(const struct draws *d, const struct draw_seen *now) {
  for (int i = 0; i < d->n; i++) {
    const struct draw_seen *then = &d->seen[i];
    const bool again = then->layout == now->layout && then->probe == now->probe && then->key == now->key;
    if (again && then->row == now->row && then->hash != now->hash)
      return "the same seeds gave other numbers in another call";
    if (!again && then->hash == now->hash)
      return "other seeds gave the same numbers in another call";
  }
  return NULL;
}

static enum assay_status add(struct draws *d, const struct draw_seen *now, struct assay_error *err) {
  if (d->n == d->capacity) {
    int capacity = 2 * d->capacity + 64;
    struct draw_seen *seen = base_realloc(d->seen, (size_t)capacity * sizeof *seen);
    if (!seen)
      return error_nomem(err, "earlier calls' numbers");
    d->seen = seen;
    d->capacity = capacity;
  }
  d->seen[d->n++] = *now;
  return ASSAY_OK;
}

enum assay_status draws_note(struct draws *d, const struct question *q, const uint64_t *rows, const char **fault,
                             struct assay_error *err) {
  const int64_t n = draws_rows(q->layout);
  enum assay_status status = ASSAY_OK;
  const int before = d->n; // rows of one call may be alike
  *fault = NULL;
  for (int64_t row = 0; row < n && !status; row++) {
    const struct draw_seen now = {
        .layout = q->layout, .probe = q->probe, .key = q->key, .hash = rows[row], .row = (int)row};
    const struct draws then = {.n = before, .seen = d->seen};
    const char *found = compare(&then, &now);
    *fault = *fault ? *fault : found;
    status = add(d, &now, err);
  }
  return status;
}

void draws_release(struct draws *d) {
  base_free(d->seen);
  memset(d, 0, sizeof *d);
}
