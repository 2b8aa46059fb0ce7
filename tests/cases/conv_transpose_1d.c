// Transposed convolution 1D with a kernel of 3.
// assay: task kernelbench/1/64
// assay: expect pass
// assay: twin FLIPPED expect wrong_value -- turns the kernel round
// assay: twin FIRST_CHANNEL expect wrong_value -- only the first input channel counts
// assay: twin HALF_LENGTH expect unwritten -- clears and fills only as many outputs as there are inputs
#include <assay/candidate.h>
#include <string.h>

enum { K = 3 };

static void maps(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  int64_t channels = in[1], length = out[2];
#ifdef FIRST_CHANNEL
  channels = 1;
#endif
#ifdef HALF_LENGTH
  length = in[2];
#endif
  for (int64_t m = begin; m < end; m++) {
    int64_t n = m / out[1], o = m % out[1];
    float *y = (float *)args->outputs[0].data + m * out[2];
    memset(y, 0, (size_t)length * sizeof *y);
    for (int64_t c = 0; c < channels; c++)
      for (int64_t j = 0; j < K; j++) {
        const float *line = x + (n * in[1] + c) * in[2];
#ifdef FLIPPED
        float k = w[(c * out[1] + o) * K + K - 1 - j];
#else
        float k = w[(c * out[1] + o) * K + j];
#endif
        for (int64_t i = 0; i < in[2] && i + j < length; i++)
          y[i + j] += k * line[i];
      }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
