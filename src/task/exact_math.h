// SPDX-License-Identifier: Apache-2.0
// Elementary functions from IEEE double operations alone, so that a draw has the same bits on every machine and every
// device, whatever its mathematical library does. Good to about 1e-15, which is more than a draw needs; the order of
// operations below is the definition (no contraction into fused multiply-adds).
#ifndef TASK_EXACT_MATH_H
#define TASK_EXACT_MATH_H

// The device's code uses this text too, after compute/dialect.h (task/device_draw.c).
#ifndef DEVICE_FN
#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t exact_bits(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline double exact_of_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

#define EXACT_FN static inline
#else
#define exact_bits F64_BITS
#define exact_of_bits F64_OF_BITS
#define EXACT_FN DEVICE_FN
#endif

#define EXACT_LN2 0.69314718055994530942
#define EXACT_TAU 6.28318530717958647693

// The natural logarithm of a normal, positive x: x = m 2^e with m in [sqrt(1/2), sqrt(2)), and
// log m = 2 artanh(s) with s = (m - 1) / (m + 1).
EXACT_FN double exact_log(double x) {
  uint64_t bits = exact_bits(x);
  // Subtracting the bits of sqrt(1/2) makes the exponent field count from there.
  int64_t shifted = (int64_t)(bits - 0x3FE6A09E667F3BCDu);
  int64_t e = shifted >> 52;
  bits -= (uint64_t)e << 52;
  double m = exact_of_bits(bits);
  double s = (m - 1) / (m + 1), z = s * s;
  double p = 1.0 / 19;
  p = p * z + 1.0 / 17;
  p = p * z + 1.0 / 15;
  p = p * z + 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  p = p * z + 1.0 / 3;
  p = p * z + 1;
  return (double)e * EXACT_LN2 + 2 * s * p;
}

// Cosine and sine of what w * 2^-32 turns are beyond the nearest quarter turn, which is returned and taken off exactly;
// by Taylor's series.
EXACT_FN uint32_t exact_cos_sin_rest(uint32_t w, double *cosine, double *sine) {
  uint32_t quarter = (w + 0x20000000u) >> 30;
  double d = (double)(int32_t)(w - (quarter << 30)) * 0x1p-32; // in [-1/8, 1/8) turns
  double a = d * EXACT_TAU, z = a * a;
  double s = -1.0 / 1307674368000.0;
  s = s * z + 1.0 / 6227020800.0;
  s = s * z - 1.0 / 39916800;
  s = s * z + 1.0 / 362880;
  s = s * z - 1.0 / 5040;
  s = s * z + 1.0 / 120;
  s = s * z - 1.0 / 6;
  s = s * z + 1;
  s = s * a;
  double c = 1.0 / 20922789888000.0;
  c = c * z - 1.0 / 87178291200.0;
  c = c * z + 1.0 / 479001600;
  c = c * z - 1.0 / 3628800;
  c = c * z + 1.0 / 40320;
  c = c * z - 1.0 / 720;
  c = c * z + 1.0 / 24;
  c = c * z - 0.5;
  c = c * z + 1;
  *cosine = c;
  *sine = s;
  return quarter;
}

// Cosine and sine of w * 2^-32 turns.
EXACT_FN void exact_cos_sin(uint32_t w, double *cosine, double *sine) {
  double c, s;
  uint32_t quarter = exact_cos_sin_rest(w, &c, &s);
  *cosine = quarter == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s;
  *sine = quarter == 0 ? s : quarter == 1 ? c : quarter == 2 ? -s : -c;
}

// exp(x) for x <= 0; 0 below -700 and for NaN.
EXACT_FN double exact_exp(double x) {
  if (!(x >= -700))
    return 0;
  double k = floor(x * 1.44269504088896340736 + 0.5);
  double r = x - k * EXACT_LN2;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1;
  p = p * r + 1;
  return ldexp(p, (int)k);
}

#endif
