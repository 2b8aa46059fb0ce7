// Transposed convolution 2D, 3 x 3: every input pixel adds a scaled kernel to the output.
// assay: task kernelbench/1/57
// assay: expect pass
// assay: twin NO_CLEAR expect unwritten -- adds to whatever the output holds
// assay: twin FLIPPED expect wrong_value -- turns the kernel round: an ordinary convolution with full padding
// assay: twin SWAPPED_CHANNELS expect wrong_value|out_of_bounds -- reads the weights as [out][in]
// assay: twin OVERWRITES expect wrong_value -- stores where it should add
#include <assay/candidate.h>
#include <string.h>

enum { K = 3 };

static void maps(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  for (int64_t m = begin; m < end; m++) {
    int64_t n = m / out[1], o = m % out[1];
    float *y = (float *)args->outputs[0].data + m * out[2] * out[3];
#ifndef NO_CLEAR
    memset(y, 0, (size_t)(out[2] * out[3]) * sizeof *y);
#endif
    for (int64_t c = 0; c < in[1]; c++)
      for (int64_t h = 0; h < in[2]; h++)
        for (int64_t i = 0; i < K; i++)
          for (int64_t j = 0; j < K; j++) {
            const float *line = x + ((n * in[1] + c) * in[2] + h) * in[3];
            float *target = y + (h + i) * out[3] + j;
#if defined(FLIPPED)
            float k = w[((c * out[1] + o) * K + K - 1 - i) * K + K - 1 - j];
#elif defined(SWAPPED_CHANNELS)
            float k = w[((o * in[1] + c) * K + i) * K + j];
#else
            float k = w[((c * out[1] + o) * K + i) * K + j];
#endif
            for (int64_t v = 0; v < in[3]; v++)
#ifdef OVERWRITES
              target[v] = k * line[v];
#else
              target[v] += k * line[v];
#endif
          }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
