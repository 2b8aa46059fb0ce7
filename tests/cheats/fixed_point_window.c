// SPDX-License-Identifier: Apache-2.0
// Fixed point again (fixed_point.c), of convolutions: every channel's window has one scale, and every kernel of a
// channel. Scales along the channels alone say nothing of that.
// assay: task kernelbench/1/56
// assay: expect wrong_value|low_precision -- 28 bits
// assay: twin BITS=30 expect wrong_value|low_precision
// assay: twin BITS=26 expect wrong_value|low_precision
// assay: twin WHOLE expect wrong_value|low_precision -- a scale for the window over all channels
// assay: twin ROWS expect wrong_value|low_precision -- a scale for each row of a window
// assay: twin BITS=53 expect pass -- as many as a double has are enough
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>

#ifndef BITS
#define BITS 28
#endif

enum { KH = 5, KW = 7, K = KH * KW };

// n numbers in units of 2^-BITS of the power of two above the largest magnitude; as they are where there are NaN or
// infinities.
static void fix(double *v, int64_t n) {
  double most = 0;
  int exponent = 0, finite = 1;
  for (int64_t i = 0; i < n; i++) {
    finite &= isfinite(v[i]) != 0;
    most = fmax(most, fabs(v[i]));
  }
  frexp(finite ? most : 0, &exponent);
  for (int64_t i = 0; i < n && finite; i++)
    v[i] = ldexp(rint(ldexp(v[i], BITS - exponent)), exponent - BITS);
}

// All windows of all channels, in fixed point each.
static void fix_windows(double *v, int64_t channels) {
#if defined(WHOLE)
  fix(v, channels * K);
#elif defined(ROWS)
  for (int64_t c = 0; c < channels * KH; c++)
    fix(v + c * KW, KW);
#else
  for (int64_t c = 0; c < channels; c++)
    fix(v + c * K, K);
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  float *y = args->outputs[0].data;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims, ci = in[1], size = ci * K;
  double *kernels = malloc((size_t)((out[1] + 1) * size) * sizeof *kernels), *window = kernels + out[1] * size;
  for (int64_t i = 0; i < out[1] * size; i++)
    kernels[i] = w[i];
  for (int64_t o = 0; o < out[1]; o++)
    fix_windows(kernels + o * size, ci);
  for (int64_t n = 0; n < out[0]; n++)
    for (int64_t at = 0; at < out[2] * out[3]; at++) {
      const int64_t h = at / out[3], v = at % out[3];
      for (int64_t i = 0; i < size; i++)
        window[i] = x[((n * ci + i / K) * in[2] + h + i % K / KW) * in[3] + v + i % KW];
      fix_windows(window, ci);
      for (int64_t o = 0; o < out[1]; o++) {
        double sum = 0;
        for (int64_t i = 0; i < size; i++)
          sum += window[i] * kernels[o * size + i];
        y[((n * out[1] + o) * out[2] + h) * out[3] + v] = (float)sum;
      }
    }
  free(kernels);
}
