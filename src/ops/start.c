// SPDX-License-Identifier: Apache-2.0
#include "ops/start.h"

#include <string.h>

void start_init(struct start *s, const struct op_eval *c, double factor) {
  memset(s, 0, sizeof *s);
  s->shape = c->out[0].shape;
  for (int i = 0; i < c->n_starts; i++)
    start_add(s, c->starts[i].of->f64, &c->starts[i].of->shape, factor * c->starts[i].factor);
}

void start_add(struct start *s, const double *from, const struct shape *shape, double factor) {
  s->part[s->n].from = from;
  s->part[s->n].factor = factor;
  shape_broadcast_strides(shape, &s->shape, s->part[s->n].strides);
  s->n++;
}

struct shape start_channels(int64_t channels, int rank) {
  struct shape s = {.rank = rank - 1, .dims = {channels}};
  for (int d = 1; d < s.rank; d++)
    s.dims[d] = 1;
  return s;
}

void start_fill(const struct start *s, int64_t at, int64_t step, int64_t n, double *to) {
  int64_t first[START_PARTS] = {0};
  int last = s->shape.rank - 1;
  for (int d = last; d >= 0; d--) {
    for (int p = 0; p < s->n; p++)
      first[p] += at % s->shape.dims[d] * s->part[p].strides[d];
    at /= s->shape.dims[d];
  }
  memset(to, 0, (size_t)n * sizeof *to);
  for (int p = 0; p < s->n; p++) {
    int64_t stride = last < 0 ? 0 : s->part[p].strides[last] * step;
    for (int64_t i = 0; i < n; i++)
      to[i] += s->part[p].factor * s->part[p].from[first[p] + i * stride];
  }
}
