// Convolution 1D: kernel 3, stride 3, dilation 4.
// assay: task kernelbench/1/76
// assay: expect pass
// assay: twin STRIDE_AS_DILATION expect wrong_value|out_of_bounds -- stride and dilation swapped
// assay: twin NO_DILATION expect wrong_value -- dilation 1
// assay: twin LAST_OUTPUT expect unwritten -- computes one output too few
#include <assay/candidate.h>

#define K 3
#ifdef STRIDE_AS_DILATION
#define STRIDE 4
#define DILATION 3
#elif defined(NO_DILATION)
#define STRIDE 3
#define DILATION 1
#else
#define STRIDE 3
#define DILATION 4
#endif

static void maps(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  int64_t length = out[2];
#ifdef LAST_OUTPUT
  length--;
#endif
  for (int64_t m = begin; m < end; m++) {
    int64_t n = m / out[1], o = m % out[1];
    const float *from = x + n * in[1] * in[2], *kernel = w + o * in[1] * K;
    float *y = (float *)args->outputs[0].data + m * out[2];
    for (int64_t i = 0; i < length; i++) {
      float sum = 0;
      for (int64_t c = 0; c < in[1]; c++)
        for (int64_t j = 0; j < K; j++)
          sum += from[c * in[2] + i * STRIDE + j * DILATION] * kernel[c * K + j];
      y[i] = sum;
    }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
