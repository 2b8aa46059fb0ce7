// SPDX-License-Identifier: Apache-2.0
// What the operations of elementwise expressions mean. Comes after EXPR_OPERATIONS(X), the list of ops/expr_program.h
// as text (pointwise.h), so that an operation means the same here as on the host. Shared by pointwise.cu and fused.cu.

// As enum expr_error, without its names: which error an operation makes in a contract pass.
#define ERROR_EXACT 0
#define ERROR_ROUNDED 1
#define ERROR_LIBRARY 2
#define ERROR_BOUNDED 3
#define ERROR_POWER 4

#define NONE 0 // no meaning over integers; never reached

enum expr_operation {
#define EXPR_ENUM(name, arity, error, value, integer) EXPR_##name,
  EXPR_OPERATIONS(EXPR_ENUM)
  EXPR_OPERATION_COUNT
};

// By how many units in the last place a normal result may be off (ops/expr.c, ulps_of).
DEVICE_FN double library_ulps(int error, double v) {
  int exponent = (int)(F64_BITS(v) >> 52 & 0x7ff) - 1023;
  return error == ERROR_POWER ? LIBRARY_ULPS + POWER_ULPS * (exponent < 0 ? -exponent : exponent) : LIBRARY_ULPS;
}

// The same for any.
DEVICE_FN double library_ulps_of(int error, const struct rounder *r, double v) {
  return error == ERROR_POWER ? power_ulps(r, v) : LIBRARY_ULPS;
}

// ---- one operation

DEVICE_FN int64_t wrap_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
DEVICE_FN int64_t wrap_sub(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
DEVICE_FN int64_t wrap_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
DEVICE_FN int64_t less(int64_t a, int64_t b, int32_t is_unsigned) {
  return is_unsigned ? (uint64_t)a < (uint64_t)b : a < b;
}
DEVICE_FN int64_t quotient(int64_t a, int64_t b, int32_t is_unsigned) {
  if (b == 0)
    return 0;
  if (is_unsigned)
    return (int64_t)((uint64_t)a / (uint64_t)b);
  return b == -1 ? wrap_sub(0, a) : a / b;
}
DEVICE_FN int64_t remainder_of(int64_t a, int64_t b, int32_t is_unsigned) {
  if (b == 0)
    return 0;
  if (is_unsigned)
    return (int64_t)((uint64_t)a % (uint64_t)b);
  return b == -1 ? 0 : a % b;
}
DEVICE_FN int64_t power(int64_t a, int64_t b) {
  if (b < 0)
    return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
  uint64_t result = 1, base = (uint64_t)a;
  for (uint64_t e = (uint64_t)b; e; e >>= 1) {
    if (e & 1)
      result *= base;
    base *= base;
  }
  return (int64_t)result;
}

// Functions of the library are long: they are called, for one element at a time.
#define LONG_EXACT(name, value)
#define LONG_ROUNDED(name, value)
#define LONG_LIBRARY(name, value)                                                                                      \
  case EXPR_##name:                                                                                                    \
    return (value);
#define LONG_BOUNDED(name, value) LONG_LIBRARY(name, value)
#define LONG_POWER(name, value) LONG_LIBRARY(name, value)

DEVICE_FN_LARGE double apply_long(int operation, double a, double b) {
  double c = 0;
  switch (operation) {
#define EXPR_LONG(name, arity, kind, value, integer) LONG_##kind(name, value)
    EXPR_OPERATIONS(EXPR_LONG)
  default:
    return F64_NAN + c;
  }
}

#define SHORT_EXACT(name, value)                                                                                       \
  case EXPR_##name:                                                                                                    \
    UNROLL_ALL                                                                                                         \
    for (int lane = 0; lane < LANE_COUNT; lane++) {                                                                    \
      double a = x[lane], b = y[lane], c = z[lane];                                                                    \
      (void)a, (void)b, (void)c;                                                                                       \
      out[lane] = (value);                                                                                             \
    }                                                                                                                  \
    return true;
#define SHORT_ROUNDED(name, value) SHORT_EXACT(name, value)
#define SHORT_LIBRARY(name, value)
#define SHORT_BOUNDED(name, value)
#define SHORT_POWER(name, value)
#define EXPR_SHORT(name, arity, kind, value, integer) SHORT_##kind(name, value)

// A function that applies an operation to `count` elements at once; false where it is one of the library's.
#define APPLY_SHORT(function, count)                                                                                   \
  DEVICE_FN bool function(int operation, const double *x, const double *y, const double *z, double *out) {             \
    enum { LANE_COUNT = count };                                                                                       \
    switch (operation) {                                                                                               \
      EXPR_OPERATIONS(EXPR_SHORT)                                                                                      \
    default:                                                                                                           \
      return false;                                                                                                    \
    }                                                                                                                  \
  }
