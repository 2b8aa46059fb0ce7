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

static uint64_t hash_of(const unsigned char *bytes, size_t n) {
  uint64_t hash = n;
  for (size_t i = 0; i < n; i += sizeof hash) {
    uint64_t word = 0;
    memcpy(&word, bytes + i, n - i < sizeof word ? n - i : sizeof word);
    hash = rng_mix64(hash ^ word);
  }
  return hash;
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

enum assay_status draws_note(struct draws *d, const struct question *q, const void *const *outputs, const char **fault,
                             struct assay_error *err) {
  const struct layout *l = q->layout;
  enum assay_status status = ASSAY_OK;
  const int before = d->n; // rows of one call may be alike
  *fault = NULL;
  for (int o = 0; o < l->n_out; o++) {
    const struct shape *s = &l->out[o].shape;
    if (!dtype_is_float(l->out[o].dtype) || s->rank != 2 || s->dims[1] < FEW)
      continue;
    const size_t bytes = (size_t)s->dims[1] * dtype_bytes(l->out[o].dtype);
    for (int64_t row = 0; row < s->dims[0] && !status; row++) {
      const struct draw_seen now = {.layout = l,
                                    .probe = q->probe,
                                    .key = q->key,
                                    .hash = hash_of((const unsigned char *)outputs[o] + (size_t)row * bytes, bytes),
                                    .row = (int)row};
      const struct draws earlier = {.n = before, .seen = d->seen};
      const char *found = compare(&earlier, &now);
      *fault = *fault ? *fault : found;
      status = add(d, &now, err);
    }
  }
  return status;
}

void draws_release(struct draws *d) {
  base_free(d->seen);
  memset(d, 0, sizeof *d);
}
