// Convolution 3D, 3 x 3 x 3, row by row.
// assay: task kernelbench/1/54
// assay: expect pass
// assay: twin TWO_SLICES expect wrong_value -- the kernel's last slice is left out
// assay: twin SWAPPED_AXES expect wrong_value -- swaps depth and width of the kernel
// assay: twin FP16_SUM expect low_precision -- sums in half precision
#include <assay/candidate.h>
#include <math.h>
#include <string.h>

enum { K = 3 };

static float partial(float x) {
#ifdef FP16_SUM
  int e;
  frexpf(x, &e);
  e = e < -13 ? -13 : e;
  return e > 16 ? copysignf(INFINITY, x) : ldexpf(rintf(ldexpf(x, 11 - e)), e - 11); // 11 significant bits
#else
  return x;
#endif
}

static void row(const float *x, const float *w, float *y, const int64_t *in, int64_t width) {
#ifdef TWO_SLICES
  const int64_t depth = K - 1;
#else
  const int64_t depth = K;
#endif
  memset(y, 0, (size_t)width * sizeof *y);
  for (int64_t c = 0; c < in[1]; c++)
    for (int64_t a = 0; a < depth; a++)
      for (int64_t b = 0; b < K; b++)
        for (int64_t e = 0; e < K; e++) {
          const float *line = x + ((c * in[2] + a) * in[3] + b) * in[4] + e;
#ifdef SWAPPED_AXES
          float k = w[((c * K + e) * K + b) * K + a];
#else
          float k = w[((c * K + a) * K + b) * K + e];
#endif
          for (int64_t v = 0; v < width; v++)
            y[v] = partial(y[v] + k * line[v]);
        }
}

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  for (int64_t r = begin; r < end; r++) {
    int64_t h = r % out[3], d = r / out[3] % out[2], o = r / out[3] / out[2] % out[1];
    int64_t n = r / out[3] / out[2] / out[1];
    row((const float *)args->inputs[0].data + ((n * in[1] * in[2] + d) * in[3] + h) * in[4],
        (const float *)args->inputs[1].data + o * in[1] * K * K * K, (float *)args->outputs[0].data + r * out[4], in,
        out[4]);
  }
}

void assay_kernel(const struct assay_args *args) {
  const int64_t *out = args->outputs[0].dims;
  args->parallel(args, out[0] * out[1] * out[2] * out[3], rows, (void *)args);
}
