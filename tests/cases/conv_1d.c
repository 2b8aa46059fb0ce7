// Convolution 1D with a kernel of 3.
// assay: task kernelbench/1/67
// assay: expect pass
// assay: twin FLIPPED expect wrong_value -- turns the kernel round
// assay: twin SHIFTED expect wrong_value|out_of_bounds -- windows start one to the right
// assay: twin ONE_BATCH expect wrong_value -- reads the first sample for all of them
#include <assay/candidate.h>
#include <string.h>

enum { K = 3 };

static void maps(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  for (int64_t m = begin; m < end; m++) {
    int64_t n = m / out[1], o = m % out[1];
    float *y = (float *)args->outputs[0].data + m * out[2];
#ifdef ONE_BATCH
    n = 0;
#endif
    memset(y, 0, (size_t)out[2] * sizeof *y);
    for (int64_t c = 0; c < in[1]; c++)
      for (int64_t j = 0; j < K; j++) {
#ifdef FLIPPED
        float k = w[(o * in[1] + c) * K + K - 1 - j];
#else
        float k = w[(o * in[1] + c) * K + j];
#endif
#ifdef SHIFTED
        const float *line = x + (n * in[1] + c) * in[2] + j + 1;
#else
        const float *line = x + (n * in[1] + c) * in[2] + j;
#endif
        for (int64_t i = 0; i < out[2]; i++)
          y[i] += k * line[i];
      }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
