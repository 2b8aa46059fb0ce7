// Transposed convolution 2D: kernel 3 x 5, stride (2, 3), padding (1, 2), dilation (2, 1), 4 groups.
// assay: task kernelbench/1/75
// assay: expect pass
// assay: twin ONE_GROUP expect wrong_value -- every output sees the first group's inputs
// assay: twin INTERLEAVED expect wrong_value -- output channel c belongs to group c mod 4
// assay: twin SWAPPED_STRIDE expect wrong_value|out_of_bounds -- stride (3, 2)
// assay: twin NO_DILATION expect wrong_value -- dilation 1
// assay: twin ROUNDED expect wrong_value -- takes every output for reached: rounds the division by the stride down
#include <assay/candidate.h>

enum { GROUPS = 4, KH = 3, KW = 5, PH = 1, PW = 2, DW = 1 };
#ifdef SWAPPED_STRIDE
enum { SH = 3, SW = 2 };
#else
enum { SH = 2, SW = 3 };
#endif
#ifdef NO_DILATION
enum { DH = 1 };
#else
enum { DH = 2 };
#endif

// Which input reaches output o through tap k: o = i stride - padding + k dilation. -1: none.
static int64_t source(int64_t o, int64_t k, int64_t stride, int64_t padding, int64_t dilation, int64_t extent) {
  int64_t at = o + padding - k * dilation;
#ifndef ROUNDED
  if (at % stride)
    return -1;
#endif
  return at >= 0 && at / stride < extent ? at / stride : -1;
}

static void maps(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  int64_t ins = in[1] / GROUPS, outs = out[1] / GROUPS; // channels of a group
  for (int64_t m = begin; m < end; m++) {
    int64_t n = m / out[1], o = m % out[1], group = o / outs, member = o % outs;
#if defined(ONE_GROUP)
    group = 0;
#elif defined(INTERLEAVED)
    group = o % GROUPS;
#endif
    float *y = (float *)args->outputs[0].data + m * out[2] * out[3];
    for (int64_t h = 0; h < out[2]; h++)
      for (int64_t v = 0; v < out[3]; v++) {
        float sum = 0;
        for (int64_t i = 0; i < KH; i++)
          for (int64_t j = 0; j < KW; j++) {
            int64_t a = source(h, i, SH, PH, DH, in[2]), b = source(v, j, SW, PW, DW, in[3]);
            if (a < 0 || b < 0)
              continue;
            for (int64_t c = group * ins; c < (group + 1) * ins; c++)
              sum += x[((n * in[1] + c) * in[2] + a) * in[3] + b] * w[((c * outs + member) * KH + i) * KW + j];
          }
        y[h * out[3] + v] = sum;
      }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
