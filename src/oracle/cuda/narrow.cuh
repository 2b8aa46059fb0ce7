// SPDX-License-Identifier: Apache-2.0
// Rounding to an element type, as ops/narrow.c. Comes after common.cuh and convert_args.h.

// To nearest, ties to even, in a format of `bits` significand bits; infinite beyond its range.
DEVICE_FN double narrow_nearest(const struct convert_type *to, double x) {
  if (x == 0 || !IS_FINITE(x))
    return x;
  int exponent = (int)(F64_BITS(x) >> 52 & 0x7ff) - 1023;
  if (exponent < to->min_exponent)
    exponent = to->min_exponent;
  double unit = arith_pow2(exponent - to->bits + 1);
  double r = rint(x / unit) * unit;
  return fabs(r) > to->max ? copysign(F64_INFINITY, x) : r;
}

// A positive value between the least and the greatest power of two; of float8e8m0.
DEVICE_FN double narrow_power(const struct gpu_narrowing *n, struct noise *noise, double x) {
  double low = F64_OF_BITS(F64_BITS(x) & 0x7ff0000000000000u); // far above a double's subnormal numbers
  if (x == low)
    return low;
  if (n->power == NARROW_UP || n->power == NARROW_DOWN)
    return n->power == NARROW_UP ? 2 * low : low;
  double threshold = n->arith.exact ? 0.5 : rng_unit(noise_next(noise));
  return x / low - 1 >= threshold ? 2 * low : low;
}

DEVICE_FN double narrow_to_power(const struct gpu_narrowing *n, struct noise *noise, double x) {
  double least = arith_pow2(n->to.min_exponent);
  if (IS_NAN(x) || x < 0)
    return F64_NAN;
  if (x < least)
    return n->saturate ? least : F64_NAN;
  double y = x > n->to.max ? F64_INFINITY : narrow_power(n, noise, x);
  return y <= n->to.max ? y : n->saturate ? n->to.max : F64_NAN;
}

// As narrowing_apply in ops/narrow.c.
DEVICE_FN double narrow(const struct gpu_narrowing *n, struct noise *noise, double x) {
  if (n->powers_alone)
    return narrow_to_power(n, noise, x);
  if (IS_NAN(x))
    return n->no_nan ? 0 : x;
  if (n->saturate && fabs(x) > n->to.max)
    return copysign(n->to.max, x);
  double r = n->arith.exact ? narrow_nearest(&n->to, x) : arith_round(&n->arith, noise, x);
  if (fabs(r) == F64_INFINITY && n->saturate)
    return copysign(n->to.max, x);
  if (fabs(r) == F64_INFINITY && (n->no_infinity || (n->no_overflow && IS_FINITE(x))))
    return F64_NAN;
  return r == 0 && n->no_minus_zero ? 0 : r;
}
