// Transposed convolution 2D, kernel 3 x 7: one tap after the other, each a shifted and scaled copy of the image.
// assay: task kernelbench/1/65
// assay: expect pass
// assay: twin SWAPPED_KERNEL expect wrong_value -- reads the kernel as 7 x 3
// assay: twin SHIFTED expect wrong_value -- shifts left instead of right: the last tap first
#include <assay/candidate.h>
#include <string.h>

enum { KH = 3, KW = 7 };

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
      for (int64_t i = 0; i < KH; i++)
        for (int64_t j = 0; j < KW; j++)
          for (int64_t h = 0; h < in[2]; h++) {
#if defined(SWAPPED_KERNEL)
            float k = kernel[j * KH + i];
#elif defined(SHIFTED)
            float k = kernel[i * KW + KW - 1 - j];
#else
            float k = kernel[i * KW + j];
#endif
            float *to = y + (h + i) * out[3] + j;
            for (int64_t v = 0; v < in[3]; v++)
              to[v] += k * image[h * in[3] + v];
          }
    }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
