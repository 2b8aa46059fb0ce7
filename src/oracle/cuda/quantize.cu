// SPDX-License-Identifier: Apache-2.0
// Quantization, as ops/quantize.c.

DEVICE_FN int64_t quantize_scale_index(const struct quantize_scales *g, int64_t i) {
  if (g->groups == 0)
    return 0;
  int64_t outer = i / g->inner, row = outer / g->extent, at = (outer - row * g->extent) / g->block;
  return g->per_axis ? at : (row * g->groups + at) * g->inner + i - outer * g->inner;
}

KERNEL(quantize, struct quantize_args) {
  int64_t i = THREAD;
  if (i >= a->count)
    return;
  struct noise noise = noise_at(a->arith.key, (uint64_t)i);
  int64_t at = quantize_scale_index(&a->scales, i);
  double zero = a->zero.data ? read_f64(&a->zero, at) : 0;
  double v = read_f64(&a->x, i) / read_f64(&a->scale, at);
  v = a->arith.exact ? narrow_nearest(&a->quotient, v) : arith_round(&a->arith, &noise, v);
  if (a->to_float) {
    v = a->zero.data ? arith_round(&a->arith, &noise, v + zero) : v;
    ((double *)a->y)[i] = narrow(&a->narrowing, &noise, v);
  } else {
    v = IS_NAN(v) ? zero : rint(v) + zero;
    v = v < a->low ? a->low : v > a->high ? a->high : v;
    ((int64_t *)a->y)[i] = (int64_t)v;
  }
}

KERNEL(dequantize, struct quantize_args) {
  int64_t i = THREAD;
  if (i >= a->count)
    return;
  struct noise noise = noise_at(a->arith.key, (uint64_t)i);
  int64_t at = quantize_scale_index(&a->scales, i);
  double v = read_f64(&a->x, i);
  if (a->zero.data)
    v = arith_round(&a->arith, &noise, v - read_f64(&a->zero, at));
  ((double *)a->y)[i] = arith_round(&a->arith, &noise, v * read_f64(&a->scale, at));
}
