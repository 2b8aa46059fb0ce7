// Depthwise-separable convolution: a 3 x 3 kernel for each channel (padding 1), then a 1 x 1 convolution over channels.
// Fused: one row of the intermediate at a time.
// assay: task kernelbench/1/86
// assay: expect pass
// assay: twin NO_PADDING expect wrong_value|out_of_bounds -- the window's corner, not its centre, lies on the pixel
// assay: twin POINT_ONLY expect wrong_value -- skips the depthwise step
// assay: twin TRANSPOSED_POINT expect wrong_value|out_of_bounds -- reads the 1 x 1 weights transposed
// assay: twin BF16_BETWEEN expect low_precision -- keeps the intermediate in bfloat16
#include <assay/candidate.h>
#include <stdlib.h>
#include <string.h>

enum { K = 3 };
#ifdef NO_PADDING
enum { PADDING = 0 };
#else
enum { PADDING = 1 };
#endif

static float between(float x) {
#ifdef BF16_BETWEEN
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  u = (u + 0x7FFF + (u >> 16 & 1)) & 0xFFFF0000; // to nearest, ties to even
  memcpy(&x, &u, sizeof x);
#endif
  return x;
}

// One row of the depthwise convolution of one channel.
static void depthwise(const float *x, const float *w, float *t, int64_t h, int64_t height, int64_t width) {
  for (int64_t v = 0; v < width; v++) {
    float sum = 0;
    for (int64_t i = 0; i < K; i++)
      for (int64_t j = 0; j < K; j++) {
        int64_t r = h + i - PADDING, c = v + j - PADDING;
        if (r >= 0 && r < height && c >= 0 && c < width)
          sum += w[i * K + j] * x[r * width + c];
      }
#ifdef POINT_ONLY
    sum = 0 * sum + x[h * width + v];
#endif
    t[v] = between(sum);
  }
}

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data, *depth = args->inputs[1].data, *point = args->inputs[2].data;
  float *y = args->outputs[0].data;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  int64_t height = in[2], width = in[3];
  float *t = malloc((size_t)(in[1] * width) * sizeof *t);
  for (int64_t r = begin; r < end; r++) {
    int64_t n = r / height, h = r % height;
    for (int64_t c = 0; c < in[1]; c++)
      depthwise(x + (n * in[1] + c) * height * width, depth + c * K * K, t + c * width, h, height, width);
    for (int64_t o = 0; o < out[1]; o++) {
      float *line = y + ((n * out[1] + o) * height + h) * width;
      memset(line, 0, (size_t)width * sizeof *line);
      for (int64_t c = 0; c < in[1]; c++)
        for (int64_t v = 0; v < width; v++)
#ifdef TRANSPOSED_POINT
          line[v] += point[c * out[1] + o] * t[c * width + v];
#else
          line[v] += point[o * in[1] + c] * t[c * width + v];
#endif
    }
  }
  free(t);
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0] * args->inputs[0].dims[2], rows, (void *)args);
}
