// SPDX-License-Identifier: Apache-2.0
// Small floating formats (float16, bfloat16, float8) as device code: reading and writing their bits. Follows
// compute/dialect.h in the programs that need it.

// 2^e as a double, for -1074 <= e <= 1023.
DEVICE_FN double format_pow2(int e) {
  return F64_OF_BITS(e >= -1022 ? (uint64_t)(e + 1023) << 52 : (uint64_t)1 << (e + 1074));
}

// A value from its bits: sign, exponent and mantissa fields. finite_only: the all-ones exponent holds ordinary numbers
// but for one NaN (float8e4m3fn).
DEVICE_FN double format_decode(uint32_t bits, int exponent_bits, int mantissa_bits, int finite_only) {
  uint32_t mantissa = bits & ((1u << mantissa_bits) - 1), top = (1u << exponent_bits) - 1;
  uint32_t exponent = (bits >> mantissa_bits) & top;
  int bias = (1 << (exponent_bits - 1)) - 1;
  double sign = (bits >> (mantissa_bits + exponent_bits)) & 1 ? -1.0 : 1.0;
  if (exponent == top && !finite_only)
    return mantissa ? F64_NAN : sign * F64_INFINITY;
  if (exponent == top && mantissa == (1u << mantissa_bits) - 1)
    return F64_NAN;
  if (exponent == 0)
    return sign * (double)mantissa * format_pow2(1 - bias - mantissa_bits);
  return sign * F64_OF_BITS((uint64_t)(exponent + 1023u - (uint32_t)bias) << 52 |
                            (uint64_t)mantissa << (52 - mantissa_bits));
}

// The bits nearest to a finite x, ties to even; beyond the range infinity, or NaN where there is none.
DEVICE_FN uint32_t format_encode(double x, int exponent_bits, int mantissa_bits, int finite_only) {
  int bias = (1 << (exponent_bits - 1)) - 1;
  uint32_t top = (1u << exponent_bits) - 1, one = 1u << mantissa_bits;
  uint32_t sign = (uint32_t)(F64_BITS(x) >> 63) << (mantissa_bits + exponent_bits);
  uint32_t nan = top << mantissa_bits | (one - 1), overflow = finite_only ? nan : top << mantissa_bits;
  double magnitude = fabs(x);
  if (magnitude == 0)
    return sign;
  int e = (int)(F64_BITS(magnitude) >> 52) - 1023; // far below any small format's range where x is subnormal
  e = e < 1 - bias ? 1 - bias : e;
  double scaled = rint(ldexp(magnitude, mantissa_bits - e));
  if (scaled >= 2.0 * one) {
    scaled /= 2;
    e++;
  }
  uint32_t m = (uint32_t)scaled;
  if (m < one)
    return sign | m;
  uint32_t field = (uint32_t)(e + bias) << mantissa_bits | (m & (one - 1));
  return sign | (field > (finite_only ? nan - 1 : overflow) ? overflow : field);
}
