// SPDX-License-Identifier: Apache-2.0
// The rule for one element (facts: "contract-scaled error"):
//   out = u_out |want| + eta_out       the final rounding, which nobody can avoid
//   e   = max(0, |got - want| - out)   what is left to explain
//   z   = e / sigma                    in units of a straightforward implementation's error
#include "compare/score.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/wide.h"

void scorer_init(struct scorer *s, const struct compare_input *in) {
  *s = (struct scorer){.in = in,
                       .floating = dtype_is_float(in->type.dtype),
                       .bytes = dtype_bytes(in->type.dtype),
                       .z_limit = compare_z_limit(shape_count(&in->type.shape)),
                       .no_infinity = in->type.dtype == DTYPE_FLOAT8E4M3FN};
  if (!s->floating)
    return;
  dtype_float_format(in->type.dtype, &s->format);
  s->sigma_floor = in->type.dtype == DTYPE_DOUBLE ? 0 : 0x1p-150; // float's range says nothing about a double's
  int exponent;
  frexp(s->format.max, &exponent); // max < 2^exponent; half a step above it rounding goes to infinity
  s->overflow = s->format.max + ldexp(1, exponent - 1 - s->format.bits);
}

// A scale that is not a number excuses nothing; one that overflowed its float excuses no more than the float held, and
// one that a float stored as 0 may have been half of the float's last step, which matters among subnormals.
static double sigma_at(const struct scorer *s, int64_t i) {
  double sigma = fabs((double)s->in->sigma[i - s->in->first]);
  return !(sigma >= s->sigma_floor) ? s->sigma_floor : sigma <= (double)FLT_MAX ? sigma : (double)FLT_MAX;
}

static double out_at(const struct scorer *s, double want) {
  return s->in->u_out * fabs(want) + s->in->eta_out;
}

double score_allowed(const struct scorer *s, int64_t i) {
  return s->floating ? out_at(s, s->in->want[i - s->in->first]) + s->z_limit * sigma_at(s, i) : 0;
}

// Marks the elements that still hold the pattern, which repeats through memory whatever the element size.
static void mark_poison(const struct scorer *s, int64_t begin, int n, uint8_t *flags) {
  uint8_t pattern[8];
  memcpy(pattern, &s->in->poison, 4);
  memcpy(pattern + 4, &s->in->poison, 4);
  const uint8_t *got = (const uint8_t *)s->in->got + (size_t)begin * s->bytes;
  for (int i = 0; i < n; i++) {
    size_t phase = (size_t)(begin + i) * s->bytes % 4;
    if (got[(size_t)i * s->bytes] == pattern[phase] &&
        memcmp(got + (size_t)i * s->bytes, pattern + phase, s->bytes) == 0)
      flags[i] = SCORE_POISON;
  }
}

// 0 finite, 1 and 2 the infinities, 3 NaN.
static int class_of(const struct scorer *s, double x) {
  if (isnan(x))
    return 3;
  if (!isinf(x))
    return 0;
  return s->no_infinity ? 3 : x > 0 ? 1 : 2;
}

// An element where got or want is not finite (or their distance is not). Where the answer rounds to infinity, or may
// after the error that is allowed, infinity is right; a finite value there is judged as a value. So it is where a
// straightforward implementation may overflow on the way (its scale is negative), and there a NaN is right as well.
static uint8_t score_special(const struct scorer *s, int64_t i, double got, double want, double *z) {
  int class_got = class_of(s, got), class_want = class_of(s, want);
  *z = 0;
  if (class_got == class_want && class_got != 0)
    return SCORE_EXACT;
  if (class_got != 0 && s->in->sigma[i - s->in->first] < 0)
    return 0;
  double toward = isinf(got) ? got : copysign(INFINITY, want);
  if (class_want == 0 && class_got == class_of(s, toward) &&
      (toward > 0 ? want : -want) + score_allowed(s, i) >= s->overflow)
    return 0;
  *z = got < want ? -INFINITY : INFINITY;
  if (class_got == class_want)
    return SCORE_OVER; // both finite, too far apart for a double
  return (uint8_t)(SCORE_OVER | (isnan(got) != isnan(want) || s->no_infinity ? SCORE_NAN : SCORE_INF));
}

// Half a step of the format's grid at x, read off x's exponent.
static inline double half_step(const struct float_format *f, double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  int64_t exponent = (int64_t)(bits >> 52 & 0x7ff), lowest = f->min_exponent + 1023;
  int64_t field = (exponent < lowest ? lowest : exponent) - f->bits;
  bits = field > 0 ? (uint64_t)field << 52 : 0;
  memcpy(&x, &bits, sizeof x);
  return x;
}

// torch.allclose, for both tolerances: equal, or both finite and near.
static uint8_t closeness(const struct scorer *s, double got, double want, double distance) {
  if (!(distance <= DBL_MAX)) {
    bool same = got == want || (isinf(got) && fabs(want) >= s->overflow && (got > 0) == (want > 0));
    return same ? 0 : SCORE_NOT_CLOSE | SCORE_NOT_LOOSE;
  }
  uint8_t flags = distance <= s->in->atol + s->in->rtol * fabs(want) ? 0 : SCORE_NOT_CLOSE;
  return distance <= s->in->loose + s->in->loose * fabs(want) ? flags : flags | SCORE_NOT_LOOSE;
}

static void score_float(const struct scorer *s, struct segment *g, int i) {
  double w = g->want[i], distance = g->distance[i], sigma = sigma_at(s, g->begin + i);
  uint8_t flags = closeness(s, g->got[i], w, distance);
  bool poisoned = g->flags[i] & SCORE_POISON;
  g->size[i] = fabs(w) <= SCORE_MOST_SIZE * sigma && sigma > 0 ? w / sigma : 0;
  if (distance <= DBL_MAX) {
    double e = distance - out_at(s, w), z = 0;
    if (e > 0) {
      z = e / sigma; // infinite where sigma is 0
      if (z > s->z_limit)
        flags |= SCORE_OVER;
    }
    if (distance <= half_step(&s->format, w))
      flags |= SCORE_EXACT;
    g->z[i] = g->got[i] < w ? -z : z;
  } else {
    flags |= score_special(s, g->begin + i, g->got[i], w, &g->z[i]);
  }
  // Four random bytes are not an accident; one or two may be, if the value is right.
  if (poisoned && (s->bytes >= 4 || flags & SCORE_OVER))
    flags |= SCORE_POISON | SCORE_OVER;
  g->flags[i] = flags;
}

// The same for a whole segment, without branches. *special: an element is not finite or holds the poison, and the
// segment is to be done one by one.
WIDE_BODY score_usual_body(const struct scorer *s, struct segment *g, bool *special) {
  const struct compare_input in = *s->in;
  const double sigma_floor = s->sigma_floor, z_limit = s->z_limit;
  const float *scales = in.sigma + (g->begin - in.first);
  const struct float_format format = s->format;
  uint64_t any = 0, found[SCORE_SEGMENT];
  for (int i = 0; i < g->n; i++) {
    double w = g->want[i], size = fabs(w), distance = g->distance[i], sigma = fabs((double)scales[i]);
    sigma = wide_pick(sigma >= sigma_floor, sigma, sigma_floor);
    sigma = wide_pick(sigma <= (double)FLT_MAX, sigma, (double)FLT_MAX);
    g->size[i] = wide_pick((size <= SCORE_MOST_SIZE * sigma) & (sigma > 0), w / sigma, 0);
    double e = distance - (in.u_out * size + in.eta_out), z = wide_pick(e > 0, e / sigma, 0);
    g->z[i] = wide_pick(g->got[i] < w, -z, z);
    found[i] = (uint64_t)(z > z_limit) * SCORE_OVER | (uint64_t)(distance <= half_step(&format, w)) * SCORE_EXACT |
               (uint64_t) !(distance <= in.atol + in.rtol * size) * SCORE_NOT_CLOSE |
               (uint64_t) !(distance <= in.loose + in.loose * size) * SCORE_NOT_LOOSE;
    any |= (uint64_t) !(distance <= DBL_MAX);
  }
  for (int i = 0; i < g->n; i++)
    any |= g->flags[i];
  for (int i = 0; i < g->n && !any; i++)
    g->flags[i] = (uint8_t)found[i];
  *special = any != 0;
}

WIDE_LOOP(score_usual, (const struct scorer *s, struct segment *g, bool *special), (s, g, special))

static void score_floats(const struct scorer *s, struct segment *g) {
  bool special;
  dtype_to_f64(s->in->type.dtype, (const uint8_t *)s->in->got + (size_t)g->begin * s->bytes, g->n, g->got);
  memcpy(g->want, s->in->want + (g->begin - s->in->first), (size_t)g->n * sizeof *g->want);
  for (int i = 0; i < g->n; i++)
    g->distance[i] = fabs(g->got[i] - g->want[i]);
  score_usual(s, g, &special);
  for (int i = 0; i < g->n && special; i++)
    score_float(s, g, i);
}

static double apart(int64_t a, int64_t b) {
  return a > b ? (double)((uint64_t)a - (uint64_t)b) : (double)((uint64_t)b - (uint64_t)a);
}

static void score_integers(const struct scorer *s, struct segment *g) {
  int64_t got[SCORE_SEGMENT];
  const uint8_t *bytes = (const uint8_t *)s->in->got + (size_t)g->begin * s->bytes;
  // A bool is one byte, 0 or 1; other bytes are wrong, not true.
  dtype_to_i64(s->in->type.dtype == DTYPE_BOOL ? DTYPE_UINT8 : s->in->type.dtype, bytes, g->n, got);
  for (int i = 0; i < g->n; i++) {
    int64_t want = s->in->want_int[g->begin + i - s->in->first];
    bool poisoned = g->flags[i] & SCORE_POISON, unsigned64 = s->in->type.dtype == DTYPE_UINT64;
    g->got[i] = unsigned64 ? (double)(uint64_t)got[i] : (double)got[i];
    g->want[i] = unsigned64 ? (double)(uint64_t)want : (double)want;
    g->flags[i] = got[i] == want ? SCORE_EXACT : poisoned ? SCORE_OVER | SCORE_POISON : SCORE_OVER;
    g->z[i] = got[i] == want ? 0 : g->got[i] < g->want[i] ? -INFINITY : INFINITY;
    g->size[i] = 0;
    double distance = g->distance[i] = unsigned64 ? fabs(g->got[i] - g->want[i]) : apart(got[i], want);
    if (got[i] != want)
      g->flags[i] |= closeness(s, g->got[i], g->want[i], distance);
  }
}

void score(const struct scorer *s, int64_t begin, int n, struct segment *out) {
  out->begin = begin;
  out->n = n;
  memset(out->flags, 0, (size_t)n);
  if (s->in->has_poison)
    mark_poison(s, begin, n, out->flags);
  if (s->floating)
    score_floats(s, out);
  else
    score_integers(s, out);
}
