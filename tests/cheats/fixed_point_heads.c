// SPDX-License-Identifier: Apache-2.0
// Fixed point again (fixed_point.c), in the four products of causal attention with linear layers around it: one layer
// makes queries, keys and values. (In the sum of values alone, ONLY=2, it passes now and then: no input has a scale for
// each position without the scores having it, too.)
// assay: task kernelbench/3/43
// assay: expect wrong_value|low_precision -- 28 bits in all of them
// assay: twin BITS=30 expect wrong_value|low_precision
// assay: twin BITS=26 expect wrong_value|low_precision
// assay: twin ONLY=0 expect wrong_value|low_precision -- in the layer before alone
// assay: twin ONLY=1 expect wrong_value|low_precision -- in the scores
// assay: twin ONLY=3 expect wrong_value|low_precision -- in the layer behind
// assay: twin ONLY=4 expect pass -- in none
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>

#ifndef BITS
#define BITS 28
#endif

enum { HEADS = 8 };

static int is_fixed(int product) {
#ifdef ONLY
  return product == ONLY;
#else
  return product >= 0;
#endif
}

// n numbers, `step` apart, in units of 2^-BITS of the power of two above the largest magnitude, if they are to be; as
// they are where there are NaN or infinities.
static void fix(const float *v, int64_t n, int64_t step, int whole, double *to) {
  float most = 0;
  int exponent = 0;
  for (int64_t i = 0; i < n; i++) {
    whole &= isfinite(v[i * step]) != 0;
    most = fmaxf(most, fabsf(v[i * step]));
  }
  frexpf(whole ? most : 0, &exponent);
  for (int64_t i = 0; i < n; i++)
    to[i] = whole ? ldexp(rint(ldexp(v[i * step], BITS - exponent)), exponent - BITS) : v[i * step];
}

static double product(const double *a, const double *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++)
    sum += a[i] * b[i];
  return sum;
}

static void layer(const float *x, int64_t rows, const struct assay_tensor *w, const float *bias, int whole, float *y) {
  const int64_t n = w->dims[0], k = w->dims[1];
  double *a = malloc((size_t)((rows + n) * k) * sizeof *a), *b = a + rows * k;
  for (int64_t r = 0; r < rows; r++)
    fix(x + r * k, k, 1, whole, a + r * k);
  for (int64_t j = 0; j < n; j++)
    fix((const float *)w->data + j * k, k, 1, whole, b + j * k);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t j = 0; j < n; j++)
      y[r * n + j] = (float)product(a + r * k, b + j * k, k) + bias[j];
  free(a);
}

// One head of e features, of s positions that lie 3 * HEADS * e apart; room for 3 s e + 2 s numbers.
static void head(const float *qkv, float *y, int64_t s, int64_t e, double *room) {
  const int64_t all = HEADS * e;
  double *queries = room, *keys = queries + s * e, *values = keys + s * e, *fixed = values + s * e;
  float *weights = (float *)(fixed + s);
  for (int64_t i = 0; i < s; i++) {
    fix(qkv + i * 3 * all, e, 1, is_fixed(1), queries + i * e);
    fix(qkv + i * 3 * all + all, e, 1, is_fixed(1), keys + i * e);
  }
  for (int64_t c = 0; c < e; c++)
    fix(qkv + 2 * all + c, s, 3 * all, is_fixed(2), values + c * s);
  for (int64_t i = 0; i < s; i++) {
    float most = -INFINITY, sum = 0;
    for (int64_t j = 0; j <= i; j++) {
      weights[j] = (float)product(queries + i * e, keys + j * e, e) / sqrtf((float)e);
      most = weights[j] > most ? weights[j] : most;
    }
    for (int64_t j = 0; j <= i; j++)
      sum += weights[j] = expf(weights[j] - most);
    fix(weights, i + 1, 1, is_fixed(2), fixed);
    for (int64_t c = 0; c < e; c++)
      y[i * all + c] = (float)(product(fixed, values + c * s, i + 1) / (double)sum);
  }
}

void assay_kernel(const struct assay_args *args) {
  const struct assay_tensor *in = args->inputs;
  const int64_t m = in[0].dims[0], s = in[0].dims[1], all = in[0].dims[2], e = all / HEADS;
  float *qkv = malloc((size_t)(m * s * 4 * all) * sizeof *qkv), *sums = qkv + m * s * 3 * all;
  double *room = malloc((size_t)(3 * s * e + 2 * s) * sizeof *room);
  layer(in[0].data, m * s, &in[1], in[2].data, is_fixed(0), qkv);
  for (int64_t i = 0; i < m * HEADS; i++)
    head(qkv + i / HEADS * s * 3 * all + i % HEADS * e, sums + i / HEADS * s * all + i % HEADS * e, s, e, room);
  layer(sums, m * s, &in[3], in[4].data, is_fixed(3), args->outputs[0].data);
  free(qkv);
  free(room);
}
