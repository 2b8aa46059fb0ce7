// SPDX-License-Identifier: Apache-2.0
#include "base/dtype.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const char *dtype_name(enum dtype t) {
  switch (t) {
#define CASE(name, number, bits, text, kind)                                                                           \
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
#define CASE(enumerator, number, bits, text, kind)                                                                     \
  if ((number) != 0 && strlen(text) == len && memcmp(text, name, len) == 0) {                                          \
    *out = DTYPE_##enumerator;                                                                                         \
    return true;                                                                                                       \
  }
  DTYPES(CASE)
#undef CASE
  return false;
}

int dtype_bits(enum dtype t) {
  switch (t) {
#define CASE(name, number, bits, text, kind)                                                                           \
  case DTYPE_##name:                                                                                                   \
    return bits;
    DTYPES(CASE)
#undef CASE
  }
  return 0;
}

size_t dtype_bytes(enum dtype t) {
  return (size_t)(dtype_bits(t) + 7) / 8;
}

static char dtype_kind(enum dtype t) {
  switch (t) {
#define CASE(name, number, bits, text, kind)                                                                           \
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

bool dtype_is_signed(enum dtype t) {
  return dtype_kind(t) == 'i';
}

bool dtype_is_exchanged(enum dtype t) {
  bool inner = t == DTYPE_FLOAT8E4M3FNUZ || t == DTYPE_FLOAT8E5M2FNUZ || t == DTYPE_FLOAT8E8M0;
  return dtype_bits(t) >= 8 && !inner;
}

bool dtype_is_integer(enum dtype t) {
  char kind = dtype_kind(t);
  return kind == 'i' || kind == 'u' || kind == 'b';
}

// ---- small formats

// What codes beside the ordinary numbers there are.
enum specials {
  IEEE,          // the all-ones exponent holds infinity and NaN
  ONE_NAN,       // all ones are NaN; the other codes of that exponent are numbers (the suffix fn)
  MINUS_ZERO,    // what would be -0 is NaN, everything else a number (fnuz)
  NUMBERS_ALONE, // neither
  POWERS_OF_TWO, // no sign, no zero; all ones are NaN
};

// The smallest normal number is 2^(1 - bias).
struct layout {
  int exponent_bits, mantissa_bits, bias;
  enum specials specials;
};

static bool find_layout(enum dtype t, struct layout *out) {
  switch (t) {
  case DTYPE_FLOAT16:
    *out = (struct layout){5, 10, 15, IEEE};
    return true;
  case DTYPE_BFLOAT16:
    *out = (struct layout){8, 7, 127, IEEE};
    return true;
  case DTYPE_FLOAT8E4M3FN:
    *out = (struct layout){4, 3, 7, ONE_NAN};
    return true;
  case DTYPE_FLOAT8E4M3FNUZ:
    *out = (struct layout){4, 3, 8, MINUS_ZERO};
    return true;
  case DTYPE_FLOAT8E5M2:
    *out = (struct layout){5, 2, 15, IEEE};
    return true;
  case DTYPE_FLOAT8E5M2FNUZ:
    *out = (struct layout){5, 2, 16, MINUS_ZERO};
    return true;
  case DTYPE_FLOAT8E8M0:
    *out = (struct layout){8, 0, 127, POWERS_OF_TWO};
    return true;
  case DTYPE_FLOAT6E3M2:
    *out = (struct layout){3, 2, 3, NUMBERS_ALONE};
    return true;
  case DTYPE_FLOAT6E2M3:
    *out = (struct layout){2, 3, 1, NUMBERS_ALONE};
    return true;
  case DTYPE_FLOAT4E2M1:
    *out = (struct layout){2, 1, 1, NUMBERS_ALONE};
    return true;
  default:
    return false;
  }
}

// Of a type that the caller guarantees to be one of them.
static struct layout layout_of(enum dtype t) {
  struct layout f = {0};
  bool is_small = find_layout(t, &f);
  assert(is_small);
  (void)is_small;
  return f;
}

bool dtype_small_format(enum dtype t, struct small_format *out) {
  struct layout f;
  if (!dtype_is_exchanged(t) || !find_layout(t, &f))
    return false;
  *out = (struct small_format){f.exponent_bits, f.mantissa_bits, f.specials == ONE_NAN};
  return true;
}

// The code of the largest finite number.
static uint32_t largest_code(struct layout f) {
  uint32_t all = (1u << (f.exponent_bits + f.mantissa_bits)) - 1;
  if (f.specials == IEEE)
    return all - (1u << f.mantissa_bits);
  return f.specials == ONE_NAN || f.specials == POWERS_OF_TWO ? all - 1 : all;
}

static double small_decode(struct layout f, uint32_t bits) {
  uint32_t mantissa = bits & ((1u << f.mantissa_bits) - 1);
  uint32_t exponent = (bits >> f.mantissa_bits) & ((1u << f.exponent_bits) - 1);
  uint32_t sign_bit = 1u << (f.mantissa_bits + f.exponent_bits), code = bits & (sign_bit - 1);
  double sign = bits & sign_bit ? -1 : 1;
  if (f.specials == POWERS_OF_TWO)
    return code > largest_code(f) ? NAN : ldexp(1, (int)code - f.bias);
  if (code > largest_code(f))
    return f.specials == IEEE && mantissa == 0 ? sign * INFINITY : NAN;
  if (f.specials == MINUS_ZERO && sign < 0 && code == 0)
    return NAN;
  if (exponent == 0)
    return sign * ldexp(mantissa, 1 - f.bias - f.mantissa_bits);
  return sign * ldexp(mantissa + (1u << f.mantissa_bits), (int)exponent - f.bias - f.mantissa_bits);
}

// What a NaN is, or what is too large.
static uint32_t beyond(struct layout f, uint32_t sign, bool nan) {
  switch (f.specials) {
  case IEEE:
    return sign | (nan ? (1u << (f.exponent_bits + f.mantissa_bits)) - 1 : largest_code(f) + 1);
  case MINUS_ZERO:
    return 1u << (f.exponent_bits + f.mantissa_bits);
  case NUMBERS_ALONE:
    return nan ? 0 : sign | largest_code(f);
  default:
    return sign | (largest_code(f) + 1);
  }
}

// The nearest power of two, upwards from halfway on.
static uint32_t power_encode(struct layout f, double x) {
  int e;
  if (!(x > 0) || isinf(x))
    return beyond(f, 0, true);
  double fraction = frexp(x, &e); // x = fraction 2^e, fraction in [0.5, 1)
  int code = e - 1 + (fraction >= 0.75) + f.bias;
  return code < 0 || code > (int)largest_code(f) ? beyond(f, 0, true) : (uint32_t)code;
}

// Rounds to nearest even on the format's grid, then reads the fields off the rounded number.
static uint32_t small_encode(struct layout f, double x) {
  uint32_t sign = (signbit(x) ? 1u : 0u) << (f.mantissa_bits + f.exponent_bits);
  if (f.specials == POWERS_OF_TWO)
    return power_encode(f, x);
  if (isnan(x) || isinf(x))
    return beyond(f, sign, isnan(x));
  double a = fabs(x);
  int e = 0; // a in [2^e, 2^(e+1)), clamped to the smallest normal's
  if (a > 0)
    frexp(a, &e);
  e = a == 0 || e - 1 < 1 - f.bias ? 1 - f.bias : e - 1;
  double scaled = nearbyint(ldexp(a, f.mantissa_bits - e)); // an integer; the default rounding mode is to even
  if (scaled >= ldexp(1, f.mantissa_bits + 1)) {
    scaled /= 2;
    e++;
  }
  uint32_t m = (uint32_t)scaled, one = 1u << f.mantissa_bits;
  if (m == 0 && f.specials == MINUS_ZERO)
    return 0;
  if (m < one)
    return sign | m; // subnormal
  uint32_t code = (uint32_t)(e + f.bias) << f.mantissa_bits | (m & (one - 1));
  return code > largest_code(f) ? beyond(f, sign, false) : sign | code;
}

bool dtype_float_format(enum dtype t, struct float_format *out) {
  struct layout f;
  if (t == DTYPE_FLOAT)
    *out = (struct float_format){.bits = 24, .min_exponent = -126, .max = 0x1.fffffep127};
  else if (t == DTYPE_DOUBLE)
    *out = (struct float_format){.bits = 53, .min_exponent = -1022, .max = 0x1.fffffffffffffp1023};
  else if (!find_layout(t, &f))
    return false;
  else
    *out = (struct float_format){.bits = f.mantissa_bits + 1,
                                 .min_exponent = f.specials == POWERS_OF_TWO ? -f.bias : 1 - f.bias,
                                 .max = small_decode(f, largest_code(f)),
                                 .no_infinity = f.specials != IEEE,
                                 .no_nan = f.specials == NUMBERS_ALONE,
                                 .no_minus_zero = f.specials == MINUS_ZERO,
                                 .powers_alone = f.specials == POWERS_OF_TWO};
  return true;
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
    struct layout f = layout_of(t);
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
    struct layout f = layout_of(t);
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
  X(UINT64, uint64_t)                                                                                                  \
  X(UINT4, uint8_t)                                                                                                    \
  X(INT4, int8_t)                                                                                                      \
  X(UINT2, uint8_t)                                                                                                    \
  X(INT2, int8_t)

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
