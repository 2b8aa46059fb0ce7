// Convolution 2D with a kernel of 5 x 7, row by row.
// assay: task kernelbench/1/56
// assay: expect pass
// assay: twin SWAPPED_KERNEL expect wrong_value|out_of_bounds -- reads the kernel as 7 x 5
// assay: twin SWAPPED_CHANNELS expect wrong_value|out_of_bounds -- reads the weights as [in][out]
// assay: twin BF16_WEIGHTS expect low_precision -- rounds the weights to bfloat16
#include <assay/candidate.h>
#include <string.h>

#define KH 5
#define KW 7

static float weight(const float *w) {
  float k = *w;
#ifdef BF16_WEIGHTS
  uint32_t u;
  memcpy(&u, &k, sizeof u);
  u = (u + 0x7FFF + (u >> 16 & 1)) & 0xFFFF0000; // to nearest, ties to even
  memcpy(&k, &u, sizeof k);
#endif
  return k;
}

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  for (int64_t r = begin; r < end; r++) {
    int64_t h = r % out[2], o = r / out[2] % out[1], n = r / out[2] / out[1];
    float *y = (float *)args->outputs[0].data + r * out[3];
    memset(y, 0, (size_t)out[3] * sizeof *y);
    for (int64_t c = 0; c < in[1]; c++)
      for (int64_t i = 0; i < KH; i++)
        for (int64_t j = 0; j < KW; j++) {
          const float *line = x + ((n * in[1] + c) * in[2] + h + i) * in[3] + j;
#if defined(SWAPPED_KERNEL)
          float k = weight(w + ((o * in[1] + c) * KW + j) * KH + i);
#elif defined(SWAPPED_CHANNELS)
          float k = weight(w + ((c * out[1] + o) * KH + i) * KW + j);
#else
          float k = weight(w + ((o * in[1] + c) * KH + i) * KW + j);
#endif
          for (int64_t v = 0; v < out[3]; v++)
            y[v] += k * line[v];
        }
  }
}

void assay_kernel(const struct assay_args *args) {
  const int64_t *out = args->outputs[0].dims;
  args->parallel(args, out[0] * out[1] * out[2], rows, (void *)args);
}
