// SPDX-License-Identifier: Apache-2.0
// Fixed point again (fixed_point.c), of layers: all but the first multiply what the layer before has made, so that no
// input of the task is a factor.
// assay: task kernelbench/3/1
// assay: expect wrong_value|low_precision -- 28 bits in each of three layers
// assay: twin BITS=30 expect wrong_value|low_precision
// assay: twin BITS=26 expect wrong_value|low_precision
// assay: twin ONLY=1 expect wrong_value|low_precision -- in the second layer alone
// assay: twin ONLY=2 expect wrong_value|low_precision -- in the third alone
// assay: twin BITS=53 expect pass -- as many as a double has are enough
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>

#ifndef BITS
#define BITS 28
#endif

// A row in units of 2^-BITS of the power of two above its largest magnitude; as it is where it has NaN or infinities.
static void fix(const float *v, int64_t n, int bits, double *to) {
  float most = 0;
  int exponent = 0, finite = 1;
  for (int64_t i = 0; i < n; i++) {
    finite &= isfinite(v[i]) != 0;
    most = fmaxf(most, fabsf(v[i]));
  }
  frexpf(finite ? most : 0, &exponent);
  for (int64_t i = 0; i < n; i++)
    to[i] = finite ? ldexp(rint(ldexp(v[i], bits - exponent)), exponent - bits) : v[i];
}

// y[r][j] = the product of rows r of x and j of w, plus bias[j]; not below `least`.
static void layer(const float *x, int64_t rows, const struct assay_tensor *w, const float *bias, int bits, float least,
                  float *y) {
  const int64_t n = w->dims[0], k = w->dims[1];
  double *a = malloc((size_t)((rows + n) * k) * sizeof *a), *b = a + rows * k;
  for (int64_t r = 0; r < rows; r++)
    fix(x + r * k, k, bits, a + r * k);
  for (int64_t j = 0; j < n; j++)
    fix((const float *)w->data + j * k, k, bits, b + j * k);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t j = 0; j < n; j++) {
      double sum = 0;
      for (int64_t i = 0; i < k; i++)
        sum += a[r * k + i] * b[j * k + i];
      y[r * n + j] = (float)sum + bias[j];
      if (y[r * n + j] < least)
        y[r * n + j] = least;
    }
  free(a);
}

void assay_kernel(const struct assay_args *args) {
  const struct assay_tensor *in = args->inputs;
  const int64_t rows = in[0].dims[0];
  float *hidden[2], *y[3];
  const float *x = in[0].data;
  for (int i = 0; i < 2; i++)
    y[i] = hidden[i] = malloc((size_t)(rows * in[1 + 2 * i].dims[0]) * sizeof **hidden);
  y[2] = args->outputs[0].data;
  for (int i = 0; i < 3; i++) {
    int bits = BITS;
#ifdef ONLY
    bits = i == ONLY ? BITS : 53;
#endif
    layer(x, rows, &in[1 + 2 * i], in[2 + 2 * i].data, bits, i < 2 ? 0 : -INFINITY, y[i]);
    x = y[i];
  }
  free(hidden[0]);
  free(hidden[1]);
}
