// SPDX-License-Identifier: Apache-2.0
// A contraction in a contract pass, from its exact sum and the standard deviation of its error: what arith_sum makes.
KERNEL(cache_draw, struct cache_draw_args) {
  int64_t i = THREAD;
  if (i >= a->n)
    return;
  double y = ((const double *)a->exact)[i], sigma = (double)((const float *)a->sigma)[i];
  struct noise noise = noise_at(a->arith.key, (uint64_t)i);
  if (IS_FINITE(y)) {
    if (sigma > 0 && IS_FINITE(sigma))
      y += a->wider * sigma * noise_spread(&noise);
    y = arith_round(&a->arith, &noise, y);
  }
  ((double *)a->y)[i] = y;
}
