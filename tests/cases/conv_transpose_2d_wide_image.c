// Transposed convolution 2D, 3 x 3: the three taps of a kernel row at once, output by output.
// assay: task kernelbench/1/71
// assay: expect pass
// assay: twin NO_EDGES expect wrong_value -- the first and last two columns get one tap only
// assay: twin TRANSPOSED_KERNEL expect wrong_value -- swaps height and width of the kernel
#include <assay/candidate.h>
#include <string.h>

enum { KH = 3, KW = 3 };

static void maps(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  for (int64_t m = begin; m < end; m++) {
    int64_t n = m / out[1], o = m % out[1];
    float *y = (float *)args->outputs[0].data + m * out[2] * out[3];
    memset(y, 0, (size_t)(out[2] * out[3]) * sizeof *y);
    for (int64_t c = 0; c < in[1]; c++) {
      const float *image = x + (n * in[1] + c) * in[2] * in[3], *kernel = w + (c * out[1] + o) * KH * KW;
      for (int64_t h = 0; h < in[2]; h++)
        for (int64_t i = 0; i < KH; i++) {
          const float *line = image + h * in[3];
          float *to = y + (h + i) * out[3];
#ifdef TRANSPOSED_KERNEL
          float a = kernel[i], b = kernel[KW + i], e = kernel[2 * KW + i];
#else
          float a = kernel[i * KW], b = kernel[i * KW + 1], e = kernel[i * KW + 2];
#endif
          for (int64_t v = 0; v < out[3]; v++) {
            float sum = v < in[3] ? a * line[v] : 0;
#ifdef NO_EDGES
            if (v > 1 && v < in[3])
#endif
            {
              sum += v > 0 && v <= in[3] ? b * line[v - 1] : 0;
              sum += v > 1 ? e * line[v - 2] : 0;
            }
            to[v] += sum;
          }
        }
    }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
