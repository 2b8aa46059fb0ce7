// Transposed convolution 1D: kernel 5, dilation 3.
// assay: task kernelbench/1/74
// assay: expect pass
// assay: twin NO_DILATION expect wrong_value -- dilation 1
// assay: twin FOUR_TAPS expect wrong_value -- the last tap is left out
// assay: twin SWAPPED_CHANNELS expect wrong_value|out_of_bounds -- reads weights as [out][in]
#include <assay/candidate.h>
#include <string.h>

enum { K = 5 };
#ifdef NO_DILATION
enum { DILATION = 1 };
#else
enum { DILATION = 3 };
#endif
#ifdef FOUR_TAPS
enum { TAPS = 4 };
#else
enum { TAPS = 5 };
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
      for (int64_t j = 0; j < TAPS; j++) {
        const float *line = x + (n * in[1] + c) * in[2];
#ifdef SWAPPED_CHANNELS
        float k = w[(o * in[1] + c) * K + j];
#else
        float k = w[(c * out[1] + o) * K + j];
#endif
        float *to = y + j * DILATION;
        for (int64_t i = 0; i < in[2]; i++)
          to[i] += k * line[i];
      }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
