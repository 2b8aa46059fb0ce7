#include "base/dtype.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const char *dtype_name(enum dtype t) {
  switch (t) {
#define CASE(name, number, bytes, text, kind)                                                                          \
  case DTYPE_##name:                                                                                                   \
    return text;
    DTYPES(CASE)
#undef CASE
  }
  return "undefined";
}

bool dtype_by_number(int64_t number, enum dtype *out) {
#define CASE(name, value, bytes, text, kind)                                                                           \
  if (number == (value)) {                                                                                             \
    *out = DTYPE_##name;                                                                                               \
    return true;                                                                                                       \
  }
  DTYPES(CASE)
#undef CASE
  return false;
}

bool dtype_by_name(const char *name, size_t len, enum dtype *out) {
#define CASE(enumerator, number, bytes, text, kind)                                                                    \
  if ((number) != 0 && strlen(text) == len && memcmp(text, name, len) == 0) {                                          \
    *out = DTYPE_##enumerator;                                                                                         \
    return true;                                                                                                       \
  }
  DTYPES(CASE)
#undef CASE
  return false;
}

size_t dtype_bytes(enum dtype t) {
  switch (t) {
#define CASE(name, number, bytes, text, kind)                                                                          \
  case DTYPE_##name:                                                                                                   \
    return bytes;
    DTYPES(CASE)
#undef CASE
  }
  return 0;
}

static char dtype_kind(enum dtype t) {
  switch (t) {
#define CASE(name, number, bytes, text, kind)                                                                          \
  case DTYPE_##name:                                                                                                   \
    return kind;
    DTYPES(CASE)
#undef CASE
  }
  return 'x';
}

bool dtype_is_float(enum dtype t) {
  return dtype_kind(t) == 'f';
}

bool dtype_is_integer(enum dtype t) {
  char kind = dtype_kind(t);
  return kind == 'i' || kind == 'u' || kind == 'b';
}

bool dtype_float_format(enum dtype t, struct float_format *out) {
  switch (t) {
  case DTYPE_FLOAT:
    *out = (struct float_format){24, -126, 0x1.fffffep127};
    return true;
  case DTYPE_DOUBLE:
    *out = (struct float_format){53, -1022, 0x1.fffffffffffffp1023};
    return true;
  case DTYPE_FLOAT16:
    *out = (struct float_format){11, -14, 65504};
    return true;
  case DTYPE_BFLOAT16:
    *out = (struct float_format){8, -126, 0x1.fep127};
    return true;
  case DTYPE_FLOAT8E4M3FN:
    *out = (struct float_format){4, -6, 448};
    return true;
  case DTYPE_FLOAT8E5M2:
    *out = (struct float_format){3, -14, 57344};
    return true;
  default:
    return false;
  }
}

bool dtype_small_format(enum dtype t, struct small_format *out) {
  switch (t) {
  case DTYPE_FLOAT16:
    *out = (struct small_format){5, 10, false};
    return true;
  case DTYPE_BFLOAT16:
    *out = (struct small_format){8, 7, false};
    return true;
  case DTYPE_FLOAT8E4M3FN:
    *out = (struct small_format){4, 3, true};
    return true;
  case DTYPE_FLOAT8E5M2:
    *out = (struct small_format){5, 2, false};
    return true;
  default:
    return false;
  }
}

// Of a type that the caller guarantees to be one of them.
static struct small_format small_format(enum dtype t) {
  struct small_format f = {0};
  bool is_small = dtype_small_format(t, &f);
  assert(is_small);
  (void)is_small;
  return f;
}

static double small_decode(struct small_format f, uint32_t bits) {
  uint32_t mantissa = bits & ((1u << f.mantissa_bits) - 1);
  uint32_t exponent = (bits >> f.mantissa_bits) & ((1u << f.exponent_bits) - 1);
  uint32_t top = (1u << f.exponent_bits) - 1;
  double sign = (bits >> (f.mantissa_bits + f.exponent_bits)) & 1 ? -1 : 1;
  int bias = (1 << (f.exponent_bits - 1)) - 1;
  if (exponent == top && !f.finite_only)
    return mantissa ? NAN : sign * INFINITY;
  if (exponent == top && mantissa == (1u << f.mantissa_bits) - 1)
    return NAN;
  if (exponent == 0)
    return sign * ldexp(mantissa, 1 - bias - f.mantissa_bits);
  return sign * ldexp(mantissa + (1u << f.mantissa_bits), (int)exponent - bias - f.mantissa_bits);
}

// Rounds to nearest even on the format's grid, then reads the fields off the rounded number.
static uint32_t small_encode(struct small_format f, double x) {
  uint32_t top = (1u << f.exponent_bits) - 1;
  uint32_t sign = (signbit(x) ? 1u : 0u) << (f.mantissa_bits + f.exponent_bits);
  uint32_t nan = top << f.mantissa_bits | ((1u << f.mantissa_bits) - 1);
  uint32_t overflow = f.finite_only ? nan : top << f.mantissa_bits;
  int bias = (1 << (f.exponent_bits - 1)) - 1;
  if (isnan(x))
    return sign | nan;
  double a = fabs(x);
  if (a == 0)
    return sign;
  if (isinf(x))
    return sign | overflow;
  int e; // a in [2^e, 2^(e+1)), clamped to the smallest normal's
  frexp(a, &e);
  e = e - 1 < 1 - bias ? 1 - bias : e - 1;
  double scaled = nearbyint(ldexp(a, f.mantissa_bits - e)); // an integer; the default rounding mode is to even
  if (scaled >= ldexp(1, f.mantissa_bits + 1)) {
    scaled /= 2;
    e++;
  }
  uint32_t m = (uint32_t)scaled;
  if (m < 1u << f.mantissa_bits)
    return sign | m; // subnormal
  uint32_t field = (uint32_t)(e + bias) << f.mantissa_bits | (m & ((1u << f.mantissa_bits) - 1));
  return sign | (field > (f.finite_only ? nan - 1 : overflow) ? overflow : field);
}

void dtype_to_f64(enum dtype t, const void *src, int64_t n, double *dst) {
  const uint8_t *s = src; // read by memcpy: an array inside a file begins wherever its header ends
  if (t == DTYPE_FLOAT) {
    for (int64_t i = 0; i < n; i++) {
      float x;
      memcpy(&x, s + (size_t)i * sizeof x, sizeof x);
      dst[i] = (double)x;
    }
  } else if (t == DTYPE_DOUBLE) {
    memcpy(dst, src, (size_t)n * sizeof *dst);
  } else {
    struct small_format f = small_format(t);
    bool one = dtype_bytes(t) == 1;
    for (int64_t i = 0; i < n; i++) {
      uint16_t bits = s[i * (one ? 1 : 2)];
      if (!one)
        memcpy(&bits, s + (size_t)i * sizeof bits, sizeof bits);
      dst[i] = small_decode(f, bits);
    }
  }
}

void dtype_from_f64(enum dtype t, const double *src, int64_t n, void *dst) {
  if (t == DTYPE_FLOAT) {
    float *d = dst;
    for (int64_t i = 0; i < n; i++) // out-of-range conversion is undefined in C, so return infinity explicitly
      d[i] = fabs(src[i]) >= 0x1.ffffffp127 && !isnan(src[i]) ? (float)copysign(INFINITY, src[i]) : (float)src[i];
  } else if (t == DTYPE_DOUBLE) {
    memcpy(dst, src, (size_t)n * sizeof *src);
  } else {
    struct small_format f = small_format(t);
    bool one = dtype_bytes(t) == 1;
    for (int64_t i = 0; i < n; i++) {
      uint32_t bits = small_encode(f, src[i]);
      if (one)
        ((uint8_t *)dst)[i] = (uint8_t)bits;
      else
        ((uint16_t *)dst)[i] = (uint16_t)bits;
    }
  }
}

#define INTEGER_CASES(X)                                                                                               \
  X(UINT8, uint8_t)                                                                                                    \
  X(INT8, int8_t)                                                                                                      \
  X(UINT16, uint16_t)                                                                                                  \
  X(INT16, int16_t)                                                                                                    \
  X(INT32, int32_t)                                                                                                    \
  X(UINT32, uint32_t)                                                                                                  \
  X(INT64, int64_t)                                                                                                    \
  X(UINT64, uint64_t)

void dtype_to_i64(enum dtype t, const void *src, int64_t n, int64_t *dst) {
  switch (t) {
#define CASE(name, type)                                                                                               \
  case DTYPE_##name:                                                                                                   \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
      type x;                                                                                                          \
      memcpy(&x, (const uint8_t *)src + (size_t)i * sizeof x, sizeof x);                                               \
      dst[i] = (int64_t)x;                                                                                             \
    }                                                                                                                  \
    return;
    INTEGER_CASES(CASE)
#undef CASE
  default:
    assert(t == DTYPE_BOOL);
    for (int64_t i = 0; i < n; i++)
      dst[i] = ((const uint8_t *)src)[i] != 0;
  }
}

void dtype_from_i64(enum dtype t, const int64_t *src, int64_t n, void *dst) {
  switch (t) {
#define CASE(name, type)                                                                                               \
  case DTYPE_##name:                                                                                                   \
    for (int64_t i = 0; i < n; i++)                                                                                    \
      ((type *)dst)[i] = (type)src[i];                                                                                 \
    return;
    INTEGER_CASES(CASE)
#undef CASE
  default:
    assert(t == DTYPE_BOOL);
    for (int64_t i = 0; i < n; i++)
      ((uint8_t *)dst)[i] = src[i] != 0;
  }
}
