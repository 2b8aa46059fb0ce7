// SPDX-License-Identifier: Apache-2.0
// Resampling through tables made on the host. Comes after common.cuh and resize_args.h.

KERNEL(resize_nearest, struct resize_nearest_args) {
  int64_t i = THREAD, rest = i, at = 0;
  if (i >= a->count)
    return;
  int filled = 0;
  for (int d = a->rank - 1; d >= 0; d--) {
    int64_t next = rest / a->dims[d], offset = ((const int64_t *)a->map[d])[rest - next * a->dims[d]];
    rest = next;
    if (offset < 0)
      filled = 1;
    at += offset;
  }
  ((uint64_t *)a->y)[i] = filled ? a->fill : read_bits(&a->x, at);
}

KERNEL(resize_weighted, struct resize_weighted_args) {
  int64_t i = THREAD, u = i / a->inner, outer = u / a->out, o = u - outer * a->out;
  if (outer >= a->outer)
    return;
  const int64_t *index = (const int64_t *)a->index + o * a->taps;
  const double *weight = (const double *)a->weight + o * a->taps;
  int64_t from = outer * a->in * a->inner + (i - u * a->inner);
  double y = 0, t2 = 0, terms = 0;
  for (int64_t k = 0; k < a->taps; k++) {
    double term = weight[k] * read_f64(&a->x, from + index[k] * a->inner);
    y += term;
    t2 += term * term;
    terms += weight[k] != 0 ? 1 : 0;
  }
  struct noise noise = noise_at(a->arith.key, (uint64_t)i);
  ((double *)a->y)[i] = arith_sum(&a->arith, &noise, y, t2, terms, false);
}

KERNEL(resize_extrapolate, struct resize_extrapolate_args) {
  int64_t i = THREAD, rest = i;
  if (i >= a->count)
    return;
  int outside = 0;
  for (int d = a->rank - 1; d >= 0; d--) {
    int64_t next = rest / a->dims[d];
    if (a->outside[d] && ((const uint8_t *)a->outside[d])[rest - next * a->dims[d]])
      outside = 1;
    rest = next;
  }
  if (outside)
    ((double *)a->y)[i] = a->value;
}
