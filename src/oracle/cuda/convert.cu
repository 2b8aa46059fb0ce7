// SPDX-License-Identifier: Apache-2.0
// Elements passed on as another type; see ops/convert.c.

KERNEL(widen, struct widen_args) {
  int64_t i = THREAD;
  if (i < a->n)
    ((uint64_t *)a->out)[i] = read_bits(&a->in, i);
}

// As dtype_from_f64 of base/dtype.c, but for the bits of a NaN.
DEVICE_FN uint64_t stored_float(const struct store_args *a, double x) {
  if (a->bytes == 8)
    return F64_BITS(x);
  if (a->bytes == 4)
    return F32_BITS((float)(fabs(x) >= 0x1.ffffffp127 ? copysign(F64_INFINITY, x) : x));
  if (IS_FINITE(x))
    return format_encode(x, a->exponent_bits, a->mantissa_bits, a->finite_only);
  uint32_t top = ((1u << a->exponent_bits) - 1) << a->mantissa_bits, mantissa = (1u << a->mantissa_bits) - 1;
  uint32_t sign = (uint32_t)(F64_BITS(x) >> 63) << (a->exponent_bits + a->mantissa_bits);
  return sign | top | (IS_NAN(x) || a->finite_only ? mantissa : 0);
}

// NaN, or 0 where that is what the type makes of x.
DEVICE_FN uint64_t other_float(const struct store_args *a, double x) {
  uint64_t nan = ((uint64_t)1 << (a->exponent_bits + a->mantissa_bits)) - 1;
  int is_nan = IS_NAN(x) || (a->finite_only && (stored_float(a, x) & nan) == nan);
  return stored_float(a, is_nan ? 0 : F64_NAN);
}

KERNEL(store, struct store_args) {
  int64_t i = THREAD;
  if (i >= a->n)
    return;
  uint64_t bits = ((const uint64_t *)a->from)[i];
  double x = F64_OF_BITS(bits);
  if (a->is_float)
    bits = a->others ? other_float(a, x) : stored_float(a, x);
  else if (a->is_bool)
    bits = (bits != 0) != (a->others != 0);
  else if (a->others)
    bits = ~bits;
  if (a->bytes == 1)
    ((uint8_t *)a->to)[i] = (uint8_t)bits;
  else if (a->bytes == 2)
    ((uint16_t *)a->to)[i] = (uint16_t)bits;
  else if (a->bytes == 4)
    ((uint32_t *)a->to)[i] = (uint32_t)bits;
  else
    ((uint64_t *)a->to)[i] = bits;
}

KERNEL(find_difference, struct same_args) {
  int64_t i = THREAD;
  if (i < a->n && ((const uint64_t *)a->a)[i] != ((const uint64_t *)a->b)[i])
    ATOMIC_OR_U32(a->differ, 1u);
}

// As as_float of ops/convert.c.
DEVICE_FN double truncatable(const struct cast_args *a, int64_t i) {
  double x = read_f64(&a->in, i);
  return a->from_float && a->to.bits != 1 && fabs(x) < 0x1p23 ? (double)(float)x : x;
}

KERNEL(cast, struct cast_args) {
  int64_t i = THREAD;
  if (i >= a->n)
    return;
  if (!a->to.is_float) {
    int64_t v = a->from.is_float ? truncate_to_integer(a->to.bits, a->to.is_unsigned, truncatable(a, i))
                                 : wrap_integer(a->to.bits, a->to.is_unsigned, read_i64(&a->in, i));
    if (a->other && a->from.is_float && !integer_holds(a->to.bits, a->to.is_unsigned, truncatable(a, i)))
      v = wrap_integer(a->to.bits, a->to.is_unsigned, ~v);
    ((int64_t *)a->out)[i] = v;
    return;
  }
  double x = a->from.is_float ? read_f64(&a->in, i)
                              : integer_to_f64(a->from.bits, a->from.is_unsigned, read_i64(&a->in, i));
  struct noise noise = noise_at(a->narrowing.arith.key, (uint64_t)i);
  ((double *)a->out)[i] = a->narrows ? narrow(&a->narrowing, &noise, x) : x;
}

// As bitcast_words of ops/bitcast.c: a NaN keeps its sign, and what there is room for of its other bits.
DEVICE_FN uint64_t bits_of_float(int32_t bits, double x) {
  uint64_t wide = F64_BITS(x);
  if (bits == 64)
    return wide;
  return IS_NAN(x) ? wide >> 63 << 31 | 0x7fc00000 | (wide >> 29 & 0x3fffff) : F32_BITS((float)x);
}

DEVICE_FN uint64_t widened_float(int32_t bits, uint64_t from) {
  if (bits == 64)
    return from;
  float x = F32_OF_BITS((uint32_t)from);
  return IS_NAN(x) ? from >> 31 << 63 | 0x7ff8000000000000 | (from & 0x3fffff) << 29 : F64_BITS((double)x);
}

KERNEL(bitcast, struct bitcast_args) {
  int64_t i = THREAD;
  if (i >= a->n)
    return;
  uint64_t element = a->from_float ? bits_of_float(a->bits, read_f64(&a->in, i))
                                   : (uint64_t)wrap_integer(a->bits, 1, read_i64(&a->in, i));
  ((uint64_t *)a->out)[i] = a->to_float ? widened_float(a->bits, element)
                                        : (uint64_t)wrap_integer(a->bits, a->to_unsigned, (int64_t)element);
}
