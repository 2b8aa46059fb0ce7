// Depthwise convolution 2D with a kernel of 3 x 1: each output is a sum over three rows.
// assay: task kernelbench/1/83
// assay: expect pass
// assay: twin ALONG_WIDTH expect wrong_value|out_of_bounds -- the kernel lies along the width
// assay: twin MEAN expect wrong_value -- all taps the same: their mean
// assay: twin BATCH_KERNEL expect wrong_value|out_of_bounds -- takes the image's number for the channel's
#include <assay/candidate.h>

static void planes(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
#ifdef ALONG_WIDTH
  const int64_t step = 1;
#else
  const int64_t step = in[3];
#endif
  for (int64_t p = begin; p < end; p++) {
#ifdef BATCH_KERNEL
    const float *w = (const float *)args->inputs[1].data + p / in[1] * 3;
#else
    const float *w = (const float *)args->inputs[1].data + p % in[1] * 3;
#endif
    const float *x = (const float *)args->inputs[0].data + p * in[2] * in[3];
    float *y = (float *)args->outputs[0].data + p * out[2] * out[3];
    float a = w[0], b = w[1], c = w[2];
#ifdef MEAN
    a = b = c = (w[0] + w[1] + w[2]) / 3;
#endif
    // Rows follow each other in memory: the whole plane is one loop.
    for (int64_t i = 0; i < out[2] * out[3]; i++)
      y[i] = a * x[i] + b * x[i + step] + c * x[i + 2 * step];
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0] * args->inputs[0].dims[1], planes, (void *)args);
}
