// Transposed convolution 3D: 3 x 3 x 3, stride 2, padding 1, dilation 2. Scatters rows.
// assay: task kernelbench/1/77
// assay: expect pass
// assay: twin NO_DILATION expect wrong_value -- dilation 1
// assay: twin NO_STRIDE expect wrong_value -- stride 1
// assay: twin SKIPS_PLANE expect wrong_value -- the first input plane is left out
#include <assay/candidate.h>
#include <string.h>

#define K 3
#define PADDING 1
#ifdef NO_DILATION
#define DILATION 1
#else
#define DILATION 2
#endif
#ifdef NO_STRIDE
#define STRIDE 1
#else
#define STRIDE 2
#endif

static int64_t target(int64_t i, int64_t k) {
  return i * STRIDE - PADDING + k * DILATION;
}

static void add_row(const float *x, const float *w, float *y, int64_t d, int64_t h, int64_t width, const int64_t *out) {
  for (int64_t i = 0; i < K; i++)
    for (int64_t j = 0; j < K; j++) {
      int64_t a = target(d, i), b = target(h, j);
      if (a < 0 || a >= out[2] || b < 0 || b >= out[3])
        continue;
      float *line = y + (a * out[3] + b) * out[4];
      for (int64_t k = 0; k < K; k++)
        for (int64_t v = 0; v < width; v++) {
          int64_t e = target(v, k);
          if (e >= 0 && e < out[4])
            line[e] += w[(i * K + j) * K + k] * x[v];
        }
    }
}

static void maps(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  for (int64_t m = begin; m < end; m++) {
    int64_t n = m / out[1], o = m % out[1], volume = out[2] * out[3] * out[4];
    float *y = (float *)args->outputs[0].data + m * volume;
    memset(y, 0, (size_t)volume * sizeof *y);
    for (int64_t c = 0; c < in[1]; c++)
#ifdef SKIPS_PLANE
      for (int64_t d = 1; d < in[2]; d++)
#else
      for (int64_t d = 0; d < in[2]; d++)
#endif
        for (int64_t h = 0; h < in[3]; h++)
          add_row(x + (((n * in[1] + c) * in[2] + d) * in[3] + h) * in[4], w + (c * out[1] + o) * K * K * K, y, d, h,
                  in[4], out);
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
