// SPDX-License-Identifier: Apache-2.0
// What a wrong output looks like, for the author of the kernel. Only failed comparisons come here.
//
// Relations between the whole output and the oracle (transposed, scaled, shifted) are tried on a bounded sample; where
// wrong elements lie is found by one more pass over the output.
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "compare/sample.h"
#include "compare/score.h"

enum { MIN_WRONG = 4, MAX_SHIFT = 3, DECISIVE_PERCENT = 99, MANY = 1 << 20 };

static void say(struct compare_facts *f, enum compare_hint hint, const char *fmt, ...) ASSAY_PRINTF(3, 4);
static void say(struct compare_facts *f, enum compare_hint hint, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(f->hint_text, sizeof f->hint_text, fmt, ap);
  va_end(ap);
  f->hint = hint;
}

// Whether `value` explains what was got at sample k. It must take away nearly all of the error; `allowed` is that of
// the element the value belongs to.
static bool explains(const struct sample *s, int k, double value, double allowed) {
  double error = fabs(s->got[k] - s->want[k]);
  return fabs(s->got[k] - value) <= 2 * fmax(allowed, s->allowed[k]) + 0.01 * error;
}

static bool decisive(int explained, int tried) {
  return tried >= MIN_WRONG && explained * 100 >= tried * DECISIVE_PERCENT;
}

// Every element of the output is the same; the sample said so first, because that is cheap.
static bool all_same(const struct scorer *s, double value) {
  struct segment g;
  int64_t n = shape_count(&s->in->type.shape);
  for (int64_t i = 0; i < n; i += SCORE_SEGMENT) {
    score(s, i, (int)(n - i < SCORE_SEGMENT ? n - i : SCORE_SEGMENT), &g);
    for (int k = 0; k < g.n; k++)
      if (g.got[k] != value)
        return false;
  }
  return true;
}

static bool find_constant(const struct scorer *sc, const struct sample *s, struct compare_facts *f) {
  bool varied = false;
  for (int k = 0; k < s->n; k++) {
    if (s->got[k] != s->got[0])
      return false;
    varied |= s->want[k] != s->want[0];
  }
  if (s->n < MIN_WRONG || (s->got[0] != 0 && !varied) || !all_same(sc, s->got[0]))
    return false;
  if (s->got[0] == 0)
    say(f, HINT_ALL_ZERO, "every element is zero");
  else
    say(f, HINT_CONSTANT, "every element is %.6g", s->got[0]);
  return true;
}

// What is wrong is zero where the answer is too small for a normal float: a compiler's switch, not an error of the
// kernel's.
static bool find_flushed(const struct sample *s, struct compare_facts *f) {
  int wrong = 0;
  for (int k = 0; k < s->n; k++)
    if (s->over[k]) {
      if (s->got[k] != 0 || fabs(s->want[k]) >= 0x1p-118)
        return false;
      wrong++;
    }
  if (wrong < MIN_WRONG || f->n_poisoned || f->n_nan_mismatch || f->n_inf_mismatch)
    return false;
  say(f, HINT_FLUSHED,
      "subnormal numbers are taken for zero, as --use_fast_math, -ftz=true and -ffast-math make kernels do");
  return true;
}

// Results are infinite from 65504 on, and not below: they are, or come from, numbers of half precision.
static bool find_half_range(const struct sample *s, struct compare_facts *f) {
  static const double END = 65504, NEAR = 4, ERRORS = 1.03;
  double most_finite = 0;
  for (int k = 0; k < s->n; k++)
    most_finite = fmax(most_finite, fabs(s->want[k]));
  bool below = s->n >= MIN_WRONG && most_finite > END / NEAR && most_finite < END * ERRORS;
  bool above = s->n_infinite >= MIN_WRONG && s->least_infinite > END / ERRORS && s->least_infinite < END * NEAR;
  if (!below || !above || f->n_poisoned || f->n_nan_mismatch)
    return false;
  say(f, HINT_HALF_RANGE,
      "infinite where the answer is beyond 65504, and only there: float16 ends there, on this path at least");
  return true;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median_of(double *x, int n) {
  qsort(x, (size_t)n, sizeof *x, by_value);
  return x[n / 2];
}

// Digits enough to show by how much a factor differs from 1.
static int factor_digits(double factor) {
  double gap = fabs(fabs(factor) - 1);
  if (gap == 0 || gap >= 1)
    return 3;
  int digits = 2 - (int)floor(log10(gap));
  return digits < 3 ? 3 : digits > 12 ? 12 : digits;
}

static bool find_factor(const struct sample *s, struct compare_facts *f) {
  double ratios[SAMPLE_MAX];
  int n = 0, explained = 0;
  for (int k = 0; k < s->n; k++)
    if (s->over[k] && s->want[k] != 0)
      ratios[n++] = s->got[k] / s->want[k];
  if (n < MIN_WRONG)
    return false;
  double factor = median_of(ratios, n);
  if (factor == 0 || !isfinite(factor))
    return false;
  for (int k = 0; k < s->n; k++)
    explained += explains(s, k, factor * s->want[k], 0);
  if (!decisive(explained, s->n))
    return false;
  if (fabs(factor + 1) < 1e-3)
    say(f, HINT_NEGATED, "the sign is flipped everywhere");
  else if (fabs(factor) < 0.01 || fabs(factor) > 1e4)
    say(f, HINT_CONSTANT_FACTOR, "off by a constant factor %.4g", factor);
  else
    say(f, HINT_CONSTANT_FACTOR, "off by a constant factor %.*f", factor_digits(factor), factor);
  return true;
}

static bool find_offset(const struct sample *s, struct compare_facts *f) {
  double offsets[SAMPLE_MAX];
  int n = 0, explained = 0;
  for (int k = 0; k < s->n; k++)
    if (s->over[k])
      offsets[n++] = s->got[k] - s->want[k];
  if (n < MIN_WRONG)
    return false;
  double offset = median_of(offsets, n);
  for (int k = 0; k < s->n; k++)
    explained += explains(s, k, s->want[k] + offset, 0);
  if (!decisive(explained, s->n))
    return false;
  say(f, HINT_CONSTANT_OFFSET, "off by a constant: %.6g is added everywhere", offset);
  return true;
}

static double want_at(const struct scorer *s, int64_t i) {
  int64_t at = i - s->in->first;
  return s->floating                         ? s->in->want[at]
         : s->in->type.dtype == DTYPE_UINT64 ? (double)(uint64_t)s->in->want_int[at]
                                             : (double)s->in->want_int[at];
}

// The output was written as if dimensions d and d + 1 were exchanged.
static bool find_transposed(const struct scorer *sc, const struct sample *s, int d, struct compare_facts *f) {
  const struct shape *shape = &sc->in->type.shape;
  int64_t a = shape->dims[d], b = shape->dims[d + 1], inner = shape_span(shape, d + 2, shape->rank);
  int explained = 0;
  if (a < 2 || b < 2)
    return false;
  for (int k = 0; k < s->n; k++) {
    int64_t block = s->index[k] / (a * b * inner), at = s->index[k] % (a * b * inner) / inner;
    int64_t from = (block * a * b + at % a * b + at / a) * inner + s->index[k] % inner;
    explained += explains(s, k, want_at(sc, from), score_allowed(sc, from));
  }
  if (!decisive(explained, s->n))
    return false;
  if (d + 2 == shape->rank)
    say(f, HINT_TRANSPOSED, "looks like the transpose of the last two dimensions");
  else
    say(f, HINT_TRANSPOSED, "looks as if dimensions %d and %d were exchanged", d, d + 1);
  return true;
}

static bool find_shift(const struct scorer *sc, const struct sample *s, int d, int shift, struct compare_facts *f) {
  const struct shape *shape = &sc->in->type.shape;
  int64_t extent = shape->dims[d], stride = shape_span(shape, d + 1, shape->rank);
  int tried = 0, explained = 0;
  if (extent < 2 * MAX_SHIFT)
    return false;
  for (int k = 0; k < s->n; k++) {
    int64_t at = s->index[k] / stride % extent + shift;
    if (at < 0 || at >= extent)
      continue;
    int64_t from = s->index[k] + shift * stride;
    tried++;
    explained += explains(s, k, want_at(sc, from), score_allowed(sc, from));
  }
  if (!decisive(explained, tried))
    return false;
  say(f, HINT_SHIFTED, "equals the expected output shifted by %d along dimension %d", -shift, d);
  return true;
}

static bool find_relation(const struct scorer *sc, const struct sample *s, struct compare_facts *f) {
  int rank = sc->in->type.shape.rank;
  if (find_constant(sc, s, f))
    return true;
  if (s->n_over < MIN_WRONG || s->n_over * 8 < s->n)
    return false;
  if (find_factor(s, f) || find_offset(s, f))
    return true;
  for (int d = rank - 2; d >= 0; d--)
    if (find_transposed(sc, s, d, f))
      return true;
  for (int d = rank - 1; d >= 0; d--)
    for (int shift = 1; shift <= MAX_SHIFT; shift++)
      if (find_shift(sc, s, d, shift, f) || find_shift(sc, s, d, -shift, f))
        return true;
  return false;
}

static bool find_precision(const struct scorer *sc, const struct sample *s, struct compare_facts *f) {
  int bits;
  if (f->n_poisoned || f->n_nan_mismatch || f->n_inf_mismatch)
    return false;
  if (sample_is_rounded(sc, s, &bits)) {
    const char *format = bits == 8 ? "bfloat16" : bits == 11 ? "float16 or tf32" : "float";
    say(f, HINT_LOW_PRECISION, "values carry only %d significand bits: %s", bits, format);
    return true;
  }
  if (sample_is_noisy(sc, s, f->z_max, &bits)) {
    say(f, HINT_LOW_PRECISION,
        "errors look like inputs or intermediate results with about %d significand bits (bfloat16 has 8, float16 and "
        "tf32 have 11, float has 24)",
        bits);
    return true;
  }
  return false;
}

static void find_place(const struct scorer *sc, struct compare_facts *f) {
  struct where where;
  char text[sizeof f->hint_text];
  where_find(sc, f->n_poisoned ? SCORE_POISON : SCORE_OVER, &where);
  enum compare_hint hint = where_describe(&where, &sc->in->type.shape, text, sizeof text);
  if (f->n_poisoned)
    say(f, HINT_UNWRITTEN, "%lld elements were never written%s%.110s", (long long)f->n_poisoned, hint ? ": " : "",
        text);
  else if (hint)
    say(f, hint, "%s", text);
}

void hint_find(const struct scorer *sc, struct compare_facts *f) {
  struct sample s;
  sample_take(sc, &s);
  if (find_flushed(&s, f) || find_half_range(&s, f))
    return;
  if (f->n_poisoned == 0 && find_relation(sc, &s, f))
    return;
  if (find_precision(sc, &s, f))
    return;
  // Sets of most elements are rarely confined to a place, and walking them takes long.
  if (f->n_poisoned > 0 || (f->n_over > 0 && (f->n_over <= MANY || f->n_over <= f->n / 2)))
    find_place(sc, f);
}
