// Elimination with diagonal pivots of one or two rows (Bunch and Kaufman), packed as LAPACK's sytrf does.
// assay: task kernelbenchx/LinearAlgebra/ldl_factor
// assay: expect pass
// assay: twin LARGEST_OF_ALL expect pass -- the largest diagonal element where it is as large as any: other factors, as right
// assay: twin OTHER_LIMIT expect pass -- takes pivots of two rows more often: other factors, as right
// assay: twin KEPT_ABOVE expect pass -- what LAPACK leaves above the diagonal, the matrix: as right
// assay: twin LAX expect wrong_value|low_precision -- takes a pivot that is a thousandth of what is beside it
// assay: twin HALF_TOLD expect wrong_value|wrong_class -- of a pivot of two rows only the first is told
// assay: twin NO_PIVOT expect wrong_value|low_precision|wrong_class -- divides by what stands on the diagonal
// assay: twin ZEROS expect wrong_value -- nothing at all
// assay: twin NO_PIVOTS_TOLD expect wrong_value|wrong_class -- the right factors, and pivots 1, 2, 3, ...
// assay: twin BAD_PIVOTS expect wrong_class -- pivots that are no rows
// assay: twin UNSCALED expect wrong_value -- multipliers before they are divided by the pivot
// assay: twin NARROW expect wrong_value|low_precision -- products of numbers with 11 bits
// assay: twin COPY expect wrong_value -- the matrix itself
#include <assay/candidate.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static float narrow(float x) {
#ifdef NARROW
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x0fff + (bits >> 13 & 1)) & 0xffffe000u;
  memcpy(&x, &bits, sizeof x);
#endif
  return x;
}

static float at(const float *w, int64_t n, int64_t i, int64_t j) {
  return i >= j ? w[i * n + j] : w[j * n + i];
}

// Rows and columns i and j change places, of what is left from row k on.
static void swap_both(float *w, int64_t n, int64_t k, int64_t i, int64_t j) {
  for (int64_t r = k; r < n && i != j; r++) {
    if (r == i || r == j)
      continue;
    float *a = i >= r ? &w[i * n + r] : &w[r * n + i], *b = j >= r ? &w[j * n + r] : &w[r * n + j], kept = *a;
    *a = *b;
    *b = kept;
  }
  float kept = w[i * n + i];
  w[i * n + i] = w[j * n + j];
  w[j * n + j] = kept;
}

// The row of the largest element of column j from row k on, off the diagonal.
static int64_t largest(const float *w, int64_t n, int64_t k, int64_t j) {
  int64_t best = -1;
  for (int64_t i = k; i < n; i++)
    if (i != j && (best < 0 || fabsf(at(w, n, i, j)) > fabsf(at(w, n, best, j))))
      best = i;
  return best;
}

// How many rows the pivot has; *first and *second are what comes to rows k and k + 1.
static int choose(const float *w, int64_t n, int64_t k, int64_t *first, int64_t *second) {
#if defined OTHER_LIMIT
  const float alpha = 0.9f;
#elif defined LAX
  const float alpha = 0.001f;
#else
  const float alpha = 0.6403882f;
#endif
  *first = k;
#ifdef NO_PIVOT
  return 1;
#endif
  int64_t r = largest(w, n, k, k);
  if (r < 0)
    return 1;
  float most = fabsf(at(w, n, r, k));
#ifdef LARGEST_OF_ALL
  float most_of_all = 0;
  int64_t d = k;
  for (int64_t j = k; j < n; j++) {
    int64_t i = largest(w, n, k, j);
    d = fabsf(w[j * n + j]) > fabsf(w[d * n + d]) ? j : d;
    most_of_all = i >= 0 ? fmaxf(most_of_all, fabsf(at(w, n, i, j))) : most_of_all;
  }
  if (fabsf(w[d * n + d]) >= alpha * most_of_all) {
    *first = d;
    return 1;
  }
#endif
  if (most == 0 || fabsf(w[k * n + k]) >= alpha * most)
    return 1;
  float other = fabsf(at(w, n, largest(w, n, k, r), r));
  if (fabsf(w[k * n + k]) * other >= alpha * most * most)
    return 1;
  if (fabsf(w[r * n + r]) >= alpha * other) {
    *first = r;
    return 1;
  }
  *second = r;
  return 2;
}

static void eliminate(float *w, int64_t n, int64_t k, int size, float *l) {
  int64_t rest = k + size;
  float a = w[k * n + k], b = size > 1 ? w[(k + 1) * n + k] : 0, c = size > 1 ? w[(k + 1) * n + k + 1] : 1;
  double det = (double)a * c - (double)b * b;
  for (int64_t i = rest; i < n; i++) {
    float x = w[i * n + k], y = size > 1 ? w[i * n + k + 1] : 0;
    l[2 * i] = size > 1 ? (float)(((double)c * x - (double)b * y) / det) : a != 0 ? x / a : 0;
    l[2 * i + 1] = size > 1 ? (float)(((double)a * y - (double)b * x) / det) : 0;
  }
  for (int64_t i = rest; i < n; i++)
    for (int64_t j = rest; j <= i; j++) {
      w[i * n + j] -= narrow(l[2 * i]) * narrow(w[j * n + k]);
      if (size > 1)
        w[i * n + j] -= narrow(l[2 * i + 1]) * narrow(w[j * n + k + 1]);
    }
#ifndef UNSCALED
  for (int64_t i = rest; i < n; i++) {
    w[i * n + k] = l[2 * i];
    if (size > 1)
      w[i * n + k + 1] = l[2 * i + 1];
  }
#endif
}

void assay_kernel(const struct assay_args *args) {
  float *w = args->outputs[0].data;
  int32_t *pivots = args->outputs[1].data;
  int64_t n = args->inputs[0].dims[0];
  float *l = malloc((size_t)(2 * n) * sizeof *l);
  memcpy(w, args->inputs[0].data, (size_t)(n * n) * sizeof *w);
  for (int64_t k = 0; k < n;) {
    int64_t first, second = k;
    int size = choose(w, n, k, &first, &second);
    if (size == 1) {
      swap_both(w, n, k, k, first);
      pivots[k] = (int32_t)first + 1;
    } else {
      swap_both(w, n, k, k + 1, second);
      pivots[k] = pivots[k + 1] = -(int32_t)(second + 1);
    }
    eliminate(w, n, k, size, l);
    k += size;
  }
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = i + 1; j < n; j++)
      w[i * n + j] = 0;
#ifdef KEPT_ABOVE
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = i + 1; j < n; j++)
      w[i * n + j] = ((const float *)args->inputs[0].data)[i * n + j];
#endif
#ifdef HALF_TOLD
  for (int64_t i = 0; i + 1 < n; i++)
    if (pivots[i] < 0) {
      pivots[i + 1] = (int32_t)i + 2;
      i++;
    }
#endif
#ifdef ZEROS
  memset(w, 0, (size_t)(n * n) * sizeof *w);
#endif
#ifdef COPY
  memcpy(w, args->inputs[0].data, (size_t)(n * n) * sizeof *w);
#endif
#if defined ZEROS || defined NO_PIVOTS_TOLD || defined COPY
  for (int64_t i = 0; i < n; i++)
    pivots[i] = (int32_t)i + 1;
#endif
#ifdef BAD_PIVOTS
  for (int64_t i = 0; i < n; i++)
    pivots[i] = INT32_MAX;
#endif
  free(l);
}
