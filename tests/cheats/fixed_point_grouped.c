// SPDX-License-Identifier: Apache-2.0
// Fixed point again (fixed_point.c), of a transposed convolution in groups: what is summed over are the channels of a
// group, which have one scale at each pixel, and in the kernel for each tap and output.
// assay: task kernelbench/1/75
// assay: expect wrong_value|low_precision -- 28 bits
// assay: twin BITS=30 expect wrong_value|low_precision
// assay: twin BITS=26 expect wrong_value|low_precision
// assay: twin BITS=53 expect pass -- as many as a double has are enough
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>

#ifndef BITS
#define BITS 28
#endif

enum { GROUPS = 4, KH = 3, KW = 5, PH = 1, PW = 2, SH = 2, SW = 3, DH = 2 };

// n numbers, `step` apart, in units of 2^-BITS of the power of two above the largest magnitude; as they are where there
// are NaN or infinities.
static void fix(const float *v, int64_t n, int64_t step, double *to) {
  float most = 0;
  int exponent = 0, finite = 1;
  for (int64_t i = 0; i < n; i++) {
    finite &= isfinite(v[i * step]) != 0;
    most = fmaxf(most, fabsf(v[i * step]));
  }
  frexpf(finite ? most : 0, &exponent);
  for (int64_t i = 0; i < n; i++)
    to[i * step] = finite ? ldexp(rint(ldexp(v[i * step], BITS - exponent)), exponent - BITS) : v[i * step];
}

// Which input reaches output o through tap k: o = i stride - padding + k dilation. -1: none.
static int64_t source(int64_t o, int64_t k, int64_t stride, int64_t padding, int64_t dilation, int64_t extent) {
  const int64_t at = o + padding - k * dilation;
  return at >= 0 && at % stride == 0 && at / stride < extent ? at / stride : -1;
}

static void map(const struct assay_args *args, const double *x, const double *w, int64_t m) {
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims, ins = in[1] / GROUPS, outs = out[1] / GROUPS;
  const int64_t n = m / out[1], o = m % out[1], pixels = in[2] * in[3];
  float *y = (float *)args->outputs[0].data + m * out[2] * out[3];
  for (int64_t at = 0; at < out[2] * out[3]; at++) {
    double sum = 0;
    for (int64_t i = 0; i < KH * KW; i++) {
      const int64_t a = source(at / out[3], i / KW, SH, PH, DH, in[2]),
                    b = source(at % out[3], i % KW, SW, PW, 1, in[3]);
      for (int64_t c = o / outs * ins; c < (o / outs + 1) * ins && a >= 0 && b >= 0; c++)
        sum += x[(n * in[1] + c) * pixels + a * in[3] + b] * w[(c * outs + o % outs) * KH * KW + i];
    }
    y[at] = (float)sum;
  }
}

void assay_kernel(const struct assay_args *args) {
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims, ins = in[1] / GROUPS, outs = out[1] / GROUPS;
  const int64_t pixels = in[2] * in[3], taps = outs * KH * KW, all = in[0] * in[1] * pixels;
  double *x = malloc((size_t)(all + in[1] * taps) * sizeof *x), *w = x + all;
  for (int64_t g = 0; g < in[0] * GROUPS; g++)
    for (int64_t p = 0; p < pixels; p++)
      fix((const float *)args->inputs[0].data + g * ins * pixels + p, ins, pixels, x + g * ins * pixels + p);
  for (int64_t g = 0; g < GROUPS; g++)
    for (int64_t t = 0; t < taps; t++)
      fix((const float *)args->inputs[1].data + g * ins * taps + t, ins, taps, w + g * ins * taps + t);
  for (int64_t m = 0; m < out[0] * out[1]; m++)
    map(args, x, w, m);
  free(x);
}
