// SPDX-License-Identifier: Apache-2.0
// Integers of a type's width, as pointwise_wrap and pointwise_truncate (ops/pointwise.h). Shared with pointwise.cu.

// v cut to its width, sign or zero extended; bool is v != 0.
DEVICE_FN int64_t wrap_integer(int32_t bits, int32_t is_unsigned, int64_t v) {
  if (bits == 1)
    return v != 0;
  if (bits == 64)
    return v;
  uint64_t cut = (uint64_t)v << (64 - bits);
  return is_unsigned ? (int64_t)(cut >> (64 - bits)) : (int64_t)cut >> (64 - bits);
}

// Towards zero, at the ends of int64's range where it does not fit, then wrapped; NaN is 0, but true as a bool.
DEVICE_FN int64_t truncate_to_integer(int32_t bits, int32_t is_unsigned, double v) {
  if (bits == 1)
    return v != 0;
  if (IS_NAN(v))
    return 0;
  if (bits == 64 && is_unsigned && v >= 0x1p63)
    return v >= 0x1p64 ? -1 : (int64_t)(uint64_t)v;
  if (v >= 0x1p63)
    return wrap_integer(bits, is_unsigned, 0x7fffffffffffffff);
  if (v < -0x1p63)
    return wrap_integer(bits, is_unsigned, -0x7fffffffffffffff - 1);
  return wrap_integer(bits, is_unsigned, (int64_t)v);
}

// Whether the type holds v, rounded towards zero; as pointwise_holds.
DEVICE_FN bool integer_holds(int32_t bits, int32_t is_unsigned, double v) {
  if (bits == 1)
    return true;
  double least = is_unsigned ? 0 : -ldexp(1.0, bits - 1), end = ldexp(1.0, is_unsigned ? bits : bits - 1);
  return trunc(v) >= least && v < end;
}

DEVICE_FN double integer_to_f64(int32_t bits, int32_t is_unsigned, int64_t v) {
  return bits == 64 && is_unsigned ? (double)(uint64_t)v : (double)v;
}
