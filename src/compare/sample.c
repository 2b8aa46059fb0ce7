// SPDX-License-Identifier: Apache-2.0
#include "compare/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_SAMPLES = 32, SORTED_MAX = 512 };

// Errors of a lower precision, root mean square relative to the output's. bfloat16 inputs of a dot product give 0.0024;
// a term dropped from a sum of K random ones gives K^-1/2, which is more up to K = 27000.
static const double NOISE_LIMIT = 0.006;
// Where the values themselves are coarse, larger errors still speak for precision: a sum of a thousand terms kept in
// bfloat16 is off by some percent.
static const double ROUNDED_LIMIT = 0.1;

void sample_take(const struct scorer *s, struct sample *out) {
  int64_t n = shape_count(&s->in->type.shape), take = n < SAMPLE_MAX ? n : SAMPLE_MAX;
  struct segment g;
  out->n = out->n_over = out->n_infinite = 0;
  out->least_infinite = INFINITY;
  for (int64_t k = 0; k < take; k++) {
    // One element at a golden-ratio place of each of `take` equal stretches: even, and in step with no stride.
    double place = (double)k * 0.61803398874989485;
    int64_t begin = k * (n / take) + (k < n % take ? k : n % take), stretch = n / take;
    int64_t i = begin + (int64_t)((place - floor(place)) * (double)stretch);
    score(s, i, 1, &g);
    if (isinf(g.got[0]) && isfinite(g.want[0])) {
      out->n_infinite++;
      out->least_infinite = fmin(out->least_infinite, fabs(g.want[0]));
    }
    if (!isfinite(g.got[0]) || !isfinite(g.want[0]))
      continue;
    int at = out->n++;
    out->index[at] = i;
    out->got[at] = g.got[0];
    out->want[at] = g.want[0];
    out->allowed[at] = score_allowed(s, i);
    out->z[at] = g.z[0];
    out->over[at] = g.flags[0] & SCORE_OVER;
    out->n_over += out->over[at];
  }
}

// Significand bits that x needs, the leading one included; 0 for zero.
static int bits_needed(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (x == 0)
    return 0;
  bits = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
  int needed = 53;
  for (; (bits & 1) == 0; bits >>= 1)
    needed--;
  return needed;
}

// Root mean square of the error over that of the output.
static double relative_error(const struct sample *s) {
  double error = 0, size = 0;
  for (int k = 0; k < s->n; k++) {
    error += (s->got[k] - s->want[k]) * (s->got[k] - s->want[k]);
    size += s->want[k] * s->want[k];
  }
  return error > 0 && isfinite(error) && isfinite(size) ? sqrt(error / size) : INFINITY;
}

bool sample_is_rounded(const struct scorer *sc, const struct sample *s, int *bits) {
  int most = 0, rich = 0, nonzero = 0;
  if (!sc->floating)
    return false;
  for (int k = 0; k < s->n; k++) {
    int needed = bits_needed(s->got[k]);
    most = needed > most ? needed : most;
    nonzero += needed > 0;
    rich += bits_needed(s->want[k]) > most + 2;
  }
  // The answer itself must need more bits, or a correct copy of coarse inputs would be accused.
  if (nonzero < MIN_SAMPLES || most + 3 > sc->format.bits || rich * 2 < nonzero)
    return false;
  int format = most <= 8 ? 8 : most <= 11 ? 11 : 24;
  if (most < format - 1 || format + 3 > sc->format.bits || !(relative_error(s) <= ROUNDED_LIMIT))
    return false;
  *bits = format;
  return true;
}

struct ranked {
  double want, z;
};

static int by_want(const void *a, const void *b) {
  double x = ((const struct ranked *)a)->want, y = ((const struct ranked *)b)->want;
  return (x > y) - (x < y);
}

// Correlation of neighbouring errors when elements are in the order of their answers: near 0 for rounding, near 1 when
// the error is a function of the answer (another formula, another constant).
static double order_correlation(const struct sample *s) {
  struct ranked r[SORTED_MAX];
  int n = 0, step = s->n / SORTED_MAX + 1;
  double product = 0, square = 0;
  for (int k = 0; k < s->n; k += step)
    if (s->z[k] != 0 && isfinite(s->z[k]))
      r[n++] = (struct ranked){s->want[k], s->z[k]};
  qsort(r, (size_t)n, sizeof *r, by_want);
  for (int k = 1; k < n; k++) {
    product += r[k].z * r[k - 1].z;
    square += r[k].z * r[k].z;
  }
  return square > 0 ? product / square : 1;
}

static int by_magnitude(const void *a, const void *b) {
  double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
  return (x > y) - (x < y);
}

bool sample_is_noisy(const struct scorer *sc, const struct sample *s, double z_max, int *bits) {
  double z[SAMPLE_MAX], relative = relative_error(s);
  int n = 0;
  if (!sc->floating || s->n < MIN_SAMPLES || !isfinite(z_max) || !(relative <= NOISE_LIMIT))
    return false;
  for (int k = 0; k < s->n; k++)
    if (fabs(s->z[k]) > 1)
      z[n++] = s->z[k];
  if (n * 10 < s->n * 3)
    return false;
  qsort(z, (size_t)n, sizeof *z, by_magnitude);
  if (z_max > 64 * fabs(z[n / 2]) || order_correlation(s) > 0.5)
    return false;
  *bits = (int)lround(-log2(relative / 0.6));
  return *bits + 3 <= sc->format.bits;
}
