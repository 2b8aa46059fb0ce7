// SPDX-License-Identifier: Apache-2.0
// Fixed point again (fixed_point.c), where each channel has a kernel of its own: a window of 3 x 7 is all that there is
// to sum over, and it and the kernel have one scale each.
// assay: task kernelbench/1/85
// assay: expect wrong_value|low_precision -- 28 bits
// assay: twin BITS=30 expect wrong_value|low_precision
// assay: twin BITS=26 expect wrong_value|low_precision
// assay: twin BITS=53 expect pass -- as many as a double has are enough
#include <assay/candidate.h>
#include <math.h>

#ifndef BITS
#define BITS 28
#endif

enum { KH = 3, KW = 7, K = KH * KW };

// In units of 2^-BITS of the power of two above the largest magnitude; as they are where there are NaN or infinities.
static void fix(double *v) {
  double most = 0;
  int exponent = 0, finite = 1;
  for (int i = 0; i < K; i++) {
    finite &= isfinite(v[i]) != 0;
    most = fmax(most, fabs(v[i]));
  }
  frexp(finite ? most : 0, &exponent);
  for (int i = 0; i < K && finite; i++)
    v[i] = ldexp(rint(ldexp(v[i], BITS - exponent)), exponent - BITS);
}

static void plane(const float *x, const float *w, float *y, int64_t width, int64_t oh, int64_t ow) {
  double kernel[K], window[K];
  for (int i = 0; i < K; i++)
    kernel[i] = w[i];
  fix(kernel);
  for (int64_t at = 0; at < oh * ow; at++) {
    double sum = 0;
    for (int i = 0; i < K; i++)
      window[i] = x[(at / ow + i / KW) * width + at % ow + i % KW];
    fix(window);
    for (int i = 0; i < K; i++)
      sum += window[i] * kernel[i];
    y[at] = (float)sum;
  }
}

void assay_kernel(const struct assay_args *args) {
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  for (int64_t p = 0; p < in[0] * in[1]; p++)
    plane((const float *)args->inputs[0].data + p * in[2] * in[3], (const float *)args->inputs[1].data + p % in[1] * K,
          (float *)args->outputs[0].data + p * out[2] * out[3], in[3], out[2], out[3]);
}
