// SPDX-License-Identifier: Apache-2.0
// Monte Carlo arithmetic beyond a single rounding: library functions and long accumulations. Formulas and their
// sources: ops/arith.h.
#include "ops/arith.h"

// Streams of a node's key, apart from those of its elements.
static const uint64_t STORE_INSIDE = 0x696e73696465u, STORE_INSIDE_PLACES = 0x706c61636573u;

bool arith_stores_at(const struct arith *a, uint64_t stream, uint64_t place, enum dtype dtype) {
  struct float_format format;
  if (a->exact || a->store == STORE_NEVER || !dtype_float_format(dtype, &format) || format.bits != a->stored.bits)
    return false;
  if (!a->store_some)
    return true;
  struct noise n = noise_at(stream & ~NOISE_MIRRORED, place);
  return noise_next(&n) >> 63;
}

struct arith arith_storing(const struct arith *a, uint64_t key) {
  return (struct arith){.exact = a->store == STORE_NEAREST,
                        .bits = a->stored.bits,
                        .min_exponent = a->stored.min_exponent,
                        .max = a->stored.max,
                        .key = key};
}

bool arith_stores_inside(const struct arith *a, int place, enum dtype dtype) {
  return arith_stores_at(a, noise_derive(a->key, STORE_INSIDE_PLACES), (uint64_t)place, dtype);
}

struct arith arith_storing_inside(const struct arith *a, int place) {
  return arith_storing(a, noise_derive(noise_derive(a->key, STORE_INSIDE), (uint64_t)place));
}

// To nearest, ties to even, as hardware rounds (sums of odd numbers are nothing but ties). What overflows becomes a
// NaN, which all that depends on it shows: what kernels make of an infinity is their own affair (gelu(-Inf) is 0, or
// -Inf times 0).
static double store_nearest(const struct arith *a, double x) {
  int exponent;
  if (x == 0 || !isfinite(x))
    return x;
  frexp(x, &exponent);
  exponent = exponent - 1 < a->min_exponent ? a->min_exponent : exponent - 1;
  double unit = arith_pow2(exponent - a->bits + 1), r = rint(x / unit) * unit;
  return fabs(r) > a->max ? NAN : r;
}

double arith_store(const struct arith *storing, uint64_t i, double x) {
  struct noise n = noise_at(storing->key, i);
  return storing->exact ? store_nearest(storing, x) : arith_round(storing, &n, x);
}

// The error is left between the format's numbers: on its grid all passes could agree by chance on one neighbour, some
// element in a thousand million, and show no error where an honest library function has one.
double arith_round_ulps(const struct arith *a, struct noise *n, double x, double ulps) {
  if (a->exact || x == 0 || !isfinite(x))
    return x;
  struct rounder r = arith_rounder(a);
  // The unit in the last place of the format at x: significand bits cut off, exponent kept.
  double ulp_of_one = r.quantum / r.limit, power = r.limit;
  if (fabs(x) >= r.limit) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= (uint64_t)0x7ff << 52;
    memcpy(&power, &bits, sizeof power);
  }
  double off = (2 * rng_unit(noise_next(n)) - 1) * ulps * ulp_of_one * power;
  double y = x + off, magnitude = fabs(y);
  return magnitude >= r.limit && magnitude <= r.max ? y : rounder_apply(&r, noise_next(n), y);
}

// Box and Muller (1958): exact in the tails as far as 53-bit uniforms reach (8.6 standard deviations), which sums of
// uniforms are not; the gates of the comparison live in those tails.
double noise_normal(struct noise *n) {
  double u = 1.0 - rng_unit(noise_next(n)); // (0, 1]
  double v = rng_unit(noise_next(n));
  return sqrt(-2 * log(u)) * cos(6.283185307179586477 * v);
}

static double arith_cut_in_steps(double steps, double y, double t2) {
  double drift = (steps + 1) / 2 * y;
  return (drift * drift + steps * (steps + 1) / 2 * t2) / 2;
}

double arith_sum_variance_from(const struct arith *a, double start, double y, double t2, double k, bool products) {
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
    double more = k * start * (start + y);
    if (more > 0 && isfinite(more))
      expected += more;
    double u = arith_pow2(-(a->bits < 52 ? a->bits : 52));
    variance = u * u / 3 * expected / (a->block > 1 ? a->block : 1);
    if (products && a->cut_bits > 0)
      variance +=
          arith_pow2(-2 * a->cut_bits) * (a->cut_steps > 0 ? arith_cut_in_steps(a->cut_steps, y, t2) : k * expected);
  }
  if (products) {
    // A product below the format's normal numbers rounds to its fixed grid, however small it is.
    int lowest = a->min_exponent - a->bits + 1;
    double quantum = arith_pow2(lowest < -1000 ? -1000 : lowest);
    variance += k * quantum * quantum / 12;
  }
  if (products && a->product_bits < 53) {
    double u_in = arith_pow2(-a->product_bits);
    variance += 2 * u_in * u_in / 3 * t2;
  }
  return variance;
}

// A nearly normal deviate, much cheaper: the sum of eight uniforms of 16 bits (Irwin and Hall 1927), scaled to variance
// 1. An error scale is estimated from the mean size of such deviates, which agrees with the normal's to half a percent;
// their tails, which do not, are not used.
static double noise_spread(struct noise *n) {
  uint64_t a = noise_next(n), b = noise_next(n);
  uint64_t lanes = (a & 0x0000ffff0000ffffu) + (a >> 16 & 0x0000ffff0000ffffu) + (b & 0x0000ffff0000ffffu) +
                   (b >> 16 & 0x0000ffff0000ffffu);
  double sum = (double)((lanes & 0xffffffffu) + (lanes >> 32));
  return (sum - 4 * 65535.0) * (1.2247448713915890 / 65536); // sqrt(12 / 8) over the width of a lane
}

// y with an error of this variance, rounded. Squares of terms near the end of double's range overflow; such a sum is
// rounded only.
static double sum_with(const struct arith *a, struct noise *n, double y, double variance) {
  if (variance > 0 && isfinite(variance))
    y += sqrt(variance) * noise_spread(n);
  return arith_round(a, n, y);
}

double arith_sum_from(const struct arith *a, struct noise *n, double start, double y, double t2, double k,
                      bool products) {
  if (a->exact || !(k > 0) || !isfinite(y))
    return y;
  return sum_with(a, n, y, arith_sum_variance_from(a, start, y, t2, k, products));
}

double arith_sum_at_least(const struct arith *a, struct noise *n, double start, double y, double t2, double k,
                          double variance) {
  if (a->exact || !(k > 0) || !isfinite(y))
    return y;
  return sum_with(a, n, y, fmax(variance, arith_sum_variance_from(a, start, y, t2, k, true)));
}

double arith_sum_lost(const struct arith *a, struct noise *n, double y, double t2, double k, double lost, int times) {
  if (a->exact || !(k > 0) || !isfinite(y))
    return y;
  double variance = arith_sum_variance(a, y, t2, k, false);
  if (times > 1)
    lost = fmax(fabs(lost), arith_lost_alike(y, t2, k));
  lost *= times * arith_pow2(24 - (a->bits < 52 ? a->bits : 52)) / 3;
  double most = times * arith_lost_most(k);
  if (isfinite(lost))
    variance += fmin(lost * lost, most * most * variance);
  return sum_with(a, n, y, variance);
}
