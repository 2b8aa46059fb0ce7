// Transposed convolution 2D, 3 x 3: every output asks which input pixels reach it. Slower than scattering, but no
// output is written twice.
// assay: task kernelbench/1/57
// assay: expect pass
// assay: twin EDGE_TAPS expect wrong_value -- leaves out taps at the far edge
// assay: twin CROPPED expect unwritten -- leaves out the output's last row and column
// assay: twin DOUBLE_COUNT expect wrong_value -- the kernel's centre counts twice
#include <assay/candidate.h>

enum { K = 3 };

static void maps(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  int64_t height = in[2], width = in[3], rows = out[2], cols = out[3];
#ifdef EDGE_TAPS
  height--, width--;
#endif
#ifdef CROPPED
  rows--, cols--;
#endif
  for (int64_t m = begin; m < end; m++) {
    int64_t n = m / out[1], o = m % out[1];
    float *y = (float *)args->outputs[0].data + m * out[2] * out[3];
    for (int64_t h = 0; h < rows; h++)
      for (int64_t v = 0; v < cols; v++) {
        float sum = 0;
        for (int64_t c = 0; c < in[1]; c++)
          for (int64_t i = 0; i < K; i++)
            for (int64_t j = 0; j < K; j++) {
              int64_t a = h - i, b = v - j;
              if (a < 0 || a >= height || b < 0 || b >= width)
                continue;
              float term = x[((n * in[1] + c) * in[2] + a) * in[3] + b] * w[((c * out[1] + o) * K + i) * K + j];
#ifdef DOUBLE_COUNT
              sum += i == 1 && j == 1 ? term : 0;
#endif
              sum += term;
            }
        y[h * out[3] + v] = sum;
      }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
