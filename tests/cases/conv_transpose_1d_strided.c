// Transposed convolution 1D: kernel 3, stride 2, padding 1, dilation 2.
// assay: task kernelbench/1/79
// assay: expect pass
// assay: twin NO_DILATION expect wrong_value -- dilation 1
// assay: twin NO_STRIDE expect wrong_value -- stride 1
// assay: twin PADDING_2 expect wrong_value -- padding 2
#include <assay/candidate.h>
#include <string.h>

#define K 3
#ifdef NO_DILATION
#define DILATION 1
#else
#define DILATION 2
#endif
#ifdef NO_STRIDE
#define STRIDE 1
#else
#define STRIDE 2
#endif
#ifdef PADDING_2
#define PADDING 2
#else
#define PADDING 1
#endif

static void maps(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  for (int64_t m = begin; m < end; m++) {
    int64_t n = m / out[1], o = m % out[1];
    float *y = (float *)args->outputs[0].data + m * out[2];
    memset(y, 0, (size_t)out[2] * sizeof *y);
    for (int64_t c = 0; c < in[1]; c++)
      for (int64_t j = 0; j < K; j++)
        for (int64_t i = 0; i < in[2]; i++) {
          int64_t at = i * STRIDE - PADDING + j * DILATION;
          if (at >= 0 && at < out[2])
            y[at] += w[(c * out[1] + o) * K + j] * x[(n * in[1] + c) * in[2] + i];
        }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
