// Transposed convolution 2D, kernel 3 x 5: pixel by pixel, each adds the whole kernel scaled.
// assay: task kernelbench/1/69
// assay: expect pass
// assay: twin LAST_COLUMN expect wrong_value -- the last column of the image is left out
// assay: twin ABSOLUTE expect wrong_value -- adds |x w|
#include <assay/candidate.h>
#include <string.h>

#include <math.h>

enum { KH = 3, KW = 5 };

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
#ifdef LAST_COLUMN
      int64_t width = in[3] - 1;
#else
      int64_t width = in[3];
#endif
      for (int64_t h = 0; h < in[2]; h++)
        for (int64_t v = 0; v < width; v++)
          for (int64_t i = 0; i < KH; i++)
            for (int64_t j = 0; j < KW; j++) {
              float term = image[h * in[3] + v] * kernel[i * KW + j];
#ifdef ABSOLUTE
              term = fabsf(term);
#endif
              y[(h + i) * out[3] + v + j] += term;
            }
    }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
