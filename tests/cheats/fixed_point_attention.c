// SPDX-License-Identifier: Apache-2.0
// Fixed point again (fixed_point.c), in attention's sum of values: softmax makes the weights, of which the largest of a
// row is 1 before they are divided by their sum, and every feature of the values has one scale. Where rows of the
// values have scales, weights are small beside the largest for values that are not.
// assay: task kernelbench/1/97
// assay: expect wrong_value|low_precision -- 28 bits
// assay: twin BITS=30 expect wrong_value|low_precision
// assay: twin BITS=26 expect wrong_value|low_precision
// assay: twin SCORES expect wrong_value|low_precision -- in the scores alone
// assay: twin HONEST expect pass
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>

#ifndef BITS
#define BITS 28
#endif

#if defined(HONEST)
enum { IN_SCORES = 0, IN_VALUES = 0 };
#elif defined(SCORES)
enum { IN_SCORES = 1, IN_VALUES = 0 };
#else
enum { IN_SCORES = 0, IN_VALUES = 1 };
#endif

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

// One head of s queries with e features; room for 3 s e + 2 s numbers.
static void head(const float *q, const float *k, const float *v, float *y, int64_t s, int64_t e, double *room) {
  double *queries = room, *keys = queries + s * e, *values = keys + s * e, *fixed = values + s * e;
  float *weights = (float *)(fixed + s);
  for (int64_t i = 0; i < s; i++) {
    fix(q + i * e, e, 1, IN_SCORES, queries + i * e);
    fix(k + i * e, e, 1, IN_SCORES, keys + i * e);
  }
  for (int64_t c = 0; c < e; c++)
    fix(v + c, s, e, IN_VALUES, values + c * s);
  for (int64_t i = 0; i < s; i++) {
    float most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < s; j++) {
      weights[j] = (float)product(queries + i * e, keys + j * e, e) / sqrtf((float)e);
      most = weights[j] > most ? weights[j] : most;
    }
    for (int64_t j = 0; j < s; j++)
      sum += weights[j] = expf(weights[j] - most);
    fix(weights, s, 1, IN_VALUES, fixed);
    for (int64_t c = 0; c < e; c++)
      y[i * e + c] = (float)(product(fixed, values + c * s, s) / (double)sum);
  }
}

void assay_kernel(const struct assay_args *args) {
  const int64_t *dims = args->inputs[0].dims, s = dims[2], e = dims[3], one = s * e;
  double *room = malloc((size_t)(3 * one + 2 * s) * sizeof *room);
  for (int64_t i = 0; i < dims[0] * dims[1]; i++)
    head((const float *)args->inputs[0].data + i * one, (const float *)args->inputs[1].data + i * one,
         (const float *)args->inputs[2].data + i * one, (float *)args->outputs[0].data + i * one, s, e, room);
  free(room);
}
