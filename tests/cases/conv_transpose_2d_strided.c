// Transposed convolution 2D: 3 x 3, stride 5, padding 1, dilation 2. Most outputs are reached by few inputs: scatters.
// assay: task kernelbench/1/81
// assay: expect pass
// assay: twin NO_STRIDE expect wrong_value -- stride 1
// assay: twin NO_PADDING expect wrong_value|out_of_bounds -- padding 0: everything one to the right and down
// assay: twin LAST_INPUT_ROW expect wrong_value -- the last input row is left out
// assay: twin PADDED_WRAP expect wrong_value|out_of_bounds -- columns in the padding wrap into the next row
#include <assay/candidate.h>
#include <string.h>

#define K 3
#define DILATION 2
#ifdef NO_STRIDE
#define STRIDE 1
#else
#define STRIDE 5
#endif
#ifdef NO_PADDING
#define PADDING 0
#else
#define PADDING 1
#endif

static void add_row(const float *x, const float *kernel, float *y, int64_t h, const int64_t *in, const int64_t *out) {
  for (int64_t i = 0; i < K; i++) {
    int64_t row = h * STRIDE - PADDING + i * DILATION;
    if (row < 0 || row >= out[2])
      continue;
    for (int64_t j = 0; j < K; j++)
      for (int64_t v = 0; v < in[3]; v++) {
        int64_t col = v * STRIDE - PADDING + j * DILATION;
#ifdef PADDED_WRAP
        if (row * out[3] + col < 0 || row * out[3] + col >= out[2] * out[3])
          continue;
#else
        if (col < 0 || col >= out[3])
          continue;
#endif
        y[row * out[3] + col] += kernel[i * K + j] * x[h * in[3] + v];
      }
  }
}

static void maps(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  int64_t rows = in[2];
#ifdef LAST_INPUT_ROW
  rows--;
#endif
  for (int64_t m = begin; m < end; m++) {
    int64_t n = m / out[1], o = m % out[1];
    float *y = (float *)args->outputs[0].data + m * out[2] * out[3];
    memset(y, 0, (size_t)(out[2] * out[3]) * sizeof *y);
    for (int64_t c = 0; c < in[1]; c++)
      for (int64_t h = 0; h < rows; h++)
        add_row(x + (n * in[1] + c) * in[2] * in[3], w + (c * out[1] + o) * K * K, y, h, in, out);
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
