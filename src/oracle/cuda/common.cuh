// SPDX-License-Identifier: Apache-2.0
// Device code that every family of the oracle shares: typed reads, noise and stochastic rounding (as ops/arith.h).
// In the program's text it comes after compute/dialect.h and common_args.h and before everything else.

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define UNROLL_ALL _Pragma("unroll")
#define UNROLL_NONE _Pragma("unroll 1")
#else
#define UNROLL_ALL
#define UNROLL_NONE
#endif

// As enum gpu_storage.
#define STORAGE_F64 0
#define STORAGE_I64 1
#define STORAGE_F32 2
#define STORAGE_F16 3
#define STORAGE_BF16 4
#define STORAGE_I32 5
#define STORAGE_U8 6
#define STORAGE_I8 7
#define STORAGE_BOOL 8
#define STORAGE_U16 9
#define STORAGE_I16 10
#define STORAGE_U32 11
#define STORAGE_F8E4M3FN 12
#define STORAGE_F8E5M2 13

// ---- reads

// The name that it has in the CPU's version of what follows.
DEVICE_FN double arith_pow2(int e) {
  return format_pow2(e);
}

// Element i as the integer it is; 0 for a floating storage.
DEVICE_FN int64_t read_i64(const struct gpu_ref *r, int64_t i) {
  switch (r->storage) {
  case STORAGE_I64:
    return ((const int64_t *)r->data)[i];
  case STORAGE_I32:
    return ((const int32_t *)r->data)[i];
  case STORAGE_U8:
    return ((const uint8_t *)r->data)[i];
  case STORAGE_I8:
    return ((const int8_t *)r->data)[i];
  case STORAGE_BOOL:
    return ((const uint8_t *)r->data)[i] != 0;
  case STORAGE_U16:
    return ((const uint16_t *)r->data)[i];
  case STORAGE_I16:
    return ((const int16_t *)r->data)[i];
  case STORAGE_U32:
    return ((const uint32_t *)r->data)[i];
  default:
    return 0;
  }
}

// Element i as a double; integers are converted.
DEVICE_FN double read_f64(const struct gpu_ref *r, int64_t i) {
  switch (r->storage) {
  case STORAGE_F64:
    return ((const double *)r->data)[i];
  case STORAGE_F32:
    return (double)((const float *)r->data)[i];
  case STORAGE_F16:
    return format_decode(((const uint16_t *)r->data)[i], 5, 10, 0);
  case STORAGE_BF16:
    return (double)F32_OF_BITS((uint32_t)((const uint16_t *)r->data)[i] << 16);
  case STORAGE_F8E4M3FN:
    return format_decode(((const uint8_t *)r->data)[i], 4, 3, 1);
  case STORAGE_F8E5M2:
    return format_decode(((const uint8_t *)r->data)[i], 5, 2, 0);
  default:
    return (double)read_i64(r, i);
  }
}

DEVICE_FN int storage_is_float(int32_t storage) {
  return storage == STORAGE_F64 || (storage >= STORAGE_F32 && storage <= STORAGE_BF16) || storage >= STORAGE_F8E4M3FN;
}

// Element i in the eight bytes that the oracle computes with: a double for a floating storage, an int64 otherwise. What
// operators that only move elements write.
DEVICE_FN uint64_t read_bits(const struct gpu_ref *r, int64_t i) {
  if (r->storage <= STORAGE_I64)
    return ((const uint64_t *)r->data)[i];
  return storage_is_float(r->storage) ? F64_BITS(read_f64(r, i)) : (uint64_t)read_i64(r, i);
}

// ---- noise (base/rng.h, ops/arith.h: the same functions of the same numbers)

DEVICE_FN uint64_t rng_mix64(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// [0, 1) with 53 bits.
DEVICE_FN double rng_unit(uint64_t bits) { return (double)(bits >> 11) * 0x1p-53; }

#define NOISE_MIRRORED ((uint64_t)1 << 63)

struct noise {
  uint64_t state, flip;
};

DEVICE_FN struct noise noise_at(uint64_t key, uint64_t index) {
  struct noise n;
  n.state = rng_mix64((key & ~NOISE_MIRRORED) ^ (index * 0xD1342543DE82EF95u + 0x2545F4914F6CDD1Du));
  n.flip = key & NOISE_MIRRORED ? ~(uint64_t)0 : 0;
  return n;
}

DEVICE_FN uint64_t noise_next(struct noise *n) {
  uint64_t x = n->state;
  n->state += 0x9E3779B97F4A7C15u;
  return rng_mix64(x) ^ n->flip;
}

// ---- rounding

struct rounder {
  uint64_t mask; // the bits of a double's significand that the format lacks
  double limit, quantum; // smallest normal number; spacing below it
  double max;
};

DEVICE_FN struct rounder arith_rounder(const struct gpu_arith *a) {
  int bits = a->bits < 52 ? a->bits : 52;
  int lowest = a->min_exponent - bits + 1;
  struct rounder r;
  r.mask = ((uint64_t)1 << (53 - bits)) - 1;
  r.limit = arith_pow2(a->min_exponent);
  r.quantum = arith_pow2(lowest < -1074 ? -1074 : lowest);
  r.max = a->max;
  return r;
}

// x rounded by 64 random bits.
DEVICE_FN double rounder_apply(const struct rounder *r, uint64_t random, double x) {
  double magnitude = fabs(x), result;
  if (magnitude >= r->limit && magnitude <= r->max)
    result = F64_OF_BITS((F64_BITS(x) + (random & r->mask)) & ~r->mask);
  else if (magnitude < r->limit)
    result = x == 0 ? x : floor(x / r->quantum + rng_unit(random)) * r->quantum;
  else
    return IS_NAN(x) ? x : copysign(F64_INFINITY, x);
  return fabs(result) > r->max ? copysign(F64_INFINITY, x) : result;
}

// To nearest, ties away from zero: what a contract's constants are.
DEVICE_FN double rounder_nearest(const struct rounder *r, double x) {
  if (x == 0 || !IS_FINITE(x))
    return x;
  if (fabs(x) < r->limit)
    return rint(x / r->quantum) * r->quantum;
  return rounder_apply(r, (r->mask + 1) / 2, x);
}

DEVICE_FN double arith_round(const struct gpu_arith *a, struct noise *n, double x) {
  if (a->exact)
    return x;
  struct rounder r = arith_rounder(a);
  return rounder_apply(&r, noise_next(n), x);
}

// The error of a library function that is off by up to about `ulps` units in the last place. The unit is that of the
// power of two at or below x.
DEVICE_FN double rounder_apply_ulps(const struct rounder *r, struct noise *n, double x, double ulps) {
  if (x == 0 || !IS_FINITE(x))
    return x;
  double ulp = r->quantum;
  if (fabs(x) >= r->limit)
    ulp = r->quantum / r->limit * F64_OF_BITS(F64_BITS(x) & 0x7ff0000000000000u);
  double off = (2 * rng_unit(noise_next(n)) - 1) * ulps * ulp;
  double y = x + off, magnitude = fabs(y);
  return magnitude >= r->limit && magnitude <= r->max ? y : rounder_apply(r, noise_next(n), y);
}

DEVICE_FN double arith_round_ulps(const struct gpu_arith *a, struct noise *n, double x, double ulps) {
  if (a->exact)
    return x;
  struct rounder r = arith_rounder(a);
  return rounder_apply_ulps(&r, n, x, ulps);
}

// By how many units in the last place a library's function may be off, and how much more e^x may be off for each power
// of two in the result (ARITH_LIBRARY_ULPS, ARITH_POWER_ULPS).
#define LIBRARY_ULPS 2.0
#define POWER_ULPS 0.5

// For a result v of e^x. Below the normal numbers the argument's part shrinks with it (ops/arith.h).
DEVICE_FN double power_ulps(const struct rounder *r, double v) {
  int exponent = (int)(F64_BITS(v) >> 52 & 0x7ff) - 1023;
  return LIBRARY_ULPS + POWER_ULPS * (exponent < 0 ? -exponent : exponent) * (v < r->limit ? v / r->limit : 1);
}

// As in ops/arith.h.
DEVICE_FN double arith_reflect(double x) { return x > 1 ? 2 - x : x < -1 ? -2 - x : x; }

// The result of e^x.
DEVICE_FN double arith_round_power(const struct gpu_arith *a, struct noise *n, double x) {
  if (a->exact)
    return x;
  struct rounder r = arith_rounder(a);
  return rounder_apply_ulps(&r, n, x, power_ulps(&r, x));
}

// ---- sums

// As in ops/arith.h.
#define LOST_LEAST 8.0
#define LOST_PART 0.25
#define LOST_ALIKE 0.25
#define LOST_ALIKE_SPREAD 1e-12

// A standard normal deviate (Box and Muller 1958).
DEVICE_FN double noise_normal(struct noise *n) {
  double u = 1.0 - rng_unit(noise_next(n)); // (0, 1]
  double v = rng_unit(noise_next(n));
  return sqrt(-2 * log(u)) * cos(6.283185307179586477 * v);
}

// As in ops/arith.c.
DEVICE_FN double arith_cut_in_steps(double steps, double y, double t2) {
  double drift = (steps + 1) / 2 * y;
  return (drift * drift + steps * (steps + 1) / 2 * t2) / 2;
}

// As in ops/arith.h.
DEVICE_FN double arith_sum_variance_from(const struct gpu_arith *a, double start, double y, double t2, double k,
                                         bool products) {
  if (a->exact || !(k > 0))
    return 0;
  double variance = 0;
  if (k > 1) {
    double scatter = t2 - y * y / k;
    double expected = y * y * (k / 3) + (scatter > 0 ? scatter : 0) * (k / 6);
    double floor_value = k * t2 / 2;
    if (expected < floor_value)
      expected = floor_value;
    double more = k * start * (start + y);
    if (more > 0 && IS_FINITE(more))
      expected += more;
    double u = arith_pow2(-(a->bits < 52 ? a->bits : 52));
    variance = u * u / 3 * expected / (a->block > 1 ? a->block : 1);
    if (products && a->cut_bits > 0)
      variance += arith_pow2(-2 * a->cut_bits) * (a->cut_steps > 0 ? arith_cut_in_steps(a->cut_steps, y, t2) : k * expected);
  }
  if (products) {
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

// A nearly normal deviate, much cheaper: eight uniforms of 16 bits (ops/arith.c).
DEVICE_FN double noise_spread(struct noise *n) {
  uint64_t a = noise_next(n), b = noise_next(n);
  uint64_t lanes = (a & 0x0000ffff0000ffffu) + (a >> 16 & 0x0000ffff0000ffffu) + (b & 0x0000ffff0000ffffu) +
                   (b >> 16 & 0x0000ffff0000ffffu);
  double sum = (double)((lanes & 0xffffffffu) + (lanes >> 32));
  return (sum - 4 * 65535.0) * (1.2247448713915890 / 65536);
}

DEVICE_FN double sum_with(const struct gpu_arith *a, struct noise *n, double y, double variance) {
  if (variance > 0 && IS_FINITE(variance))
    y += sqrt(variance) * noise_spread(n);
  return arith_round(a, n, y);
}

DEVICE_FN double arith_sum_from(const struct gpu_arith *a, struct noise *n, double start, double y, double t2,
                                double k, bool products) {
  if (a->exact || !(k > 0) || !IS_FINITE(y))
    return y;
  return sum_with(a, n, y, arith_sum_variance_from(a, start, y, t2, k, products));
}

// As in ops/arith.c.
DEVICE_FN double arith_sum_at_least(const struct gpu_arith *a, struct noise *n, double start, double y, double t2,
                                    double k, double variance) {
  if (a->exact || !(k > 0) || !IS_FINITE(y))
    return y;
  return sum_with(a, n, y, fmax(variance, arith_sum_variance_from(a, start, y, t2, k, true)));
}

// As in ops/arith.c.
DEVICE_FN double arith_sum_lost(const struct gpu_arith *a, struct noise *n, double y, double t2, double k,
                                double lost, int times) {
  if (a->exact || !(k > 0) || !IS_FINITE(y))
    return y;
  double variance = arith_sum_variance_from(a, 0, y, t2, k, false);
  if (times > 1 && k * t2 - y * y <= LOST_ALIKE_SPREAD * y * y)
    lost = fmax(fabs(lost), LOST_ALIKE * k * 0x1p-24 * fabs(y));
  lost *= times * arith_pow2(24 - (a->bits < 52 ? a->bits : 52)) / 3;
  double most = times * fmax(LOST_LEAST, LOST_PART * sqrt(k));
  if (IS_FINITE(lost))
    variance += fmin(lost * lost, most * most * variance);
  return sum_with(a, n, y, variance);
}

DEVICE_FN double arith_sum(const struct gpu_arith *a, struct noise *n, double y, double t2, double k, bool products) {
  return arith_sum_from(a, n, 0, y, t2, k, products);
}

// As arith_complete_window in ops/arith.h.
DEVICE_FN void arith_complete_window(double all, double *t2, double *k) {
  if (*k > 0 && *k < all) {
    *t2 *= all / *k;
    *k = all;
  }
}

// What the sum of element `at` of the output may begin with.
DEVICE_FN double start_at(const struct gpu_start *s, int64_t at) {
  int64_t from[GPU_START_PARTS];
  for (int i = 0; i < GPU_START_PARTS; i++)
    from[i] = 0;
  for (int d = s->rank - 1; d >= 0 && s->n > 0; d--) {
    int64_t next = at / s->extent[d], index = at - next * s->extent[d];
    for (int i = 0; i < s->n; i++)
      from[i] += index * s->stride[i][d];
    at = next;
  }
  double start = 0;
  for (int i = 0; i < s->n; i++)
    start += s->factor[i] * read_f64(&s->from[i], from[i]);
  return start;
}
