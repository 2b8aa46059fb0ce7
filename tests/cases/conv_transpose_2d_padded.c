// Transposed convolution 2D, kernel 3 x 7, padding (1, 3): the output is as large as the input.
// assay: task kernelbench/1/78
// assay: expect pass
// assay: twin NO_PADDING expect wrong_value -- padding 0
// assay: twin SWAPPED_PADDING expect wrong_value -- padding (3, 1)
// assay: twin FLIPPED expect wrong_value -- turns the kernel by 180 degrees
#include <assay/candidate.h>
#include <string.h>

#if defined(NO_PADDING)
enum { PH = 0, PW = 0 };
#elif defined(SWAPPED_PADDING)
enum { PH = 3, PW = 1 };
#else
enum { PH = 1, PW = 3 };
#endif
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
      for (int64_t t = 0; t < KH * KW; t++) {
        int64_t down = t / KW - PH, right = t % KW - PW;
#ifdef FLIPPED
        float k = kernel[KH * KW - 1 - t];
#else
        float k = kernel[t];
#endif
        int64_t first = right < 0 ? -right : 0, stop = in[3] + right > out[3] ? out[3] - right : in[3];
        for (int64_t h = 0; h < in[2]; h++)
          if (h + down >= 0 && h + down < out[2])
            for (int64_t v = first; v < stop; v++)
              y[(h + down) * out[3] + v + right] += k * image[h * in[3] + v];
      }
    }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
