// Elements passed on as another type; see ops/convert.c.

KERNEL(widen, struct widen_args) {
  int64_t i = THREAD;
  if (i < a->n)
    ((uint64_t *)a->out)[i] = read_bits(&a->in, i);
}

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

DEVICE_FN double narrow(const struct cast_args *a, int64_t i, double x) {
  if (a->saturate && fabs(x) > a->to.max)
    return copysign(a->to.max, x);
  double r;
  if (a->arith.exact) {
    r = narrow_nearest(&a->to, x);
  } else {
    struct noise noise = noise_at(a->arith.key, (uint64_t)i);
    r = arith_round(&a->arith, &noise, x);
    if (a->saturate && fabs(r) == F64_INFINITY)
      r = copysign(a->to.max, x);
  }
  return fabs(r) == F64_INFINITY && a->no_infinity ? F64_NAN : r;
}

KERNEL(cast, struct cast_args) {
  int64_t i = THREAD;
  if (i >= a->n)
    return;
  if (!a->to.is_float) {
    int64_t v = a->from.is_float ? truncate_to_integer(a->to.bits, a->to.is_unsigned, read_f64(&a->in, i))
                                 : wrap_integer(a->to.bits, a->to.is_unsigned, read_i64(&a->in, i));
    ((int64_t *)a->out)[i] = v;
    return;
  }
  double x = a->from.is_float ? read_f64(&a->in, i)
                              : integer_to_f64(a->from.bits, a->from.is_unsigned, read_i64(&a->in, i));
  ((double *)a->out)[i] = a->narrows ? narrow(a, i, x) : x;
}
