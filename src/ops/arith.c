// Monte Carlo arithmetic beyond a single rounding: library functions and long accumulations. Formulas and their
// sources: ops/arith.h.
#include "ops/arith.h"

double arith_round_ulps(const struct arith *a, struct noise *n, double x, double ulps) {
  if (a->exact || x == 0 || !isfinite(x))
    return x;
  struct rounder r = arith_rounder(a);
  // The unit in the last place of the format at x: significand bits cut off, exponent kept.
  double ulp = r.quantum;
  if (fabs(x) >= r.limit) {
    int exponent;
    frexp(x, &exponent);
    ulp = ldexp(1.0, exponent - (a->bits < 52 ? a->bits : 52));
  }
  double off = (2 * rng_unit(noise_next(n)) - 1) * ulps * ulp;
  return rounder_apply(&r, noise_next(n), x + off);
}

// Box and Muller (1958): exact in the tails as far as 53-bit uniforms reach (8.6 standard deviations), which sums of
// uniforms are not; the gates of the comparison live in those tails.
double noise_normal(struct noise *n) {
  double u = 1.0 - rng_unit(noise_next(n)); // (0, 1]
  double v = rng_unit(noise_next(n));
  return sqrt(-2 * log(u)) * cos(6.283185307179586477 * v);
}

double arith_sum_variance(const struct arith *a, double y, double t2, double k, bool products) {
  if (a->exact || !(k > 0))
    return 0;
  double variance = 0;
  if (k > 1) {
    // The sum of squared partial sums: a drift towards y, and a bridge around it pinned at both ends.
    double scatter = t2 - y * y / k;
    double expected = y * y * (k / 3) + (scatter > 0 ? scatter : 0) * (k / 6);
    double floor_value = k * t2 / 2;
    if (expected < floor_value)
      expected = floor_value;
    double u = arith_pow2(-(a->bits < 52 ? a->bits : 52));
    variance = u * u / 3 * expected / (a->block > 1 ? a->block : 1);
  }
  if (products) {
    // A product below the format's normal numbers rounds to its fixed grid, however small it is.
    double quantum = ldexp(1, a->min_exponent - a->bits + 1);
    variance += k * quantum * quantum / 12;
  }
  if (products && a->product_bits < 53) {
    double u_in = arith_pow2(-a->product_bits);
    variance += 2 * u_in * u_in / 3 * t2;
  }
  return variance;
}

double arith_sum(const struct arith *a, struct noise *n, double y, double t2, double k, bool products) {
  if (a->exact || !(k > 0) || !isfinite(y))
    return y;
  double variance = arith_sum_variance(a, y, t2, k, products);
  // Squares of terms near the end of double's range overflow; such a sum is rounded only.
  if (variance > 0 && isfinite(variance))
    y += sqrt(variance) * noise_normal(n);
  return arith_round(a, n, y);
}
