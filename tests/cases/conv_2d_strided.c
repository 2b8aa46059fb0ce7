// Convolution 2D, 11 x 11, stride 4, padding 2, with bias: AlexNet's first layer.
// assay: task kernelbench/1/50
// assay: expect pass
// assay: twin NO_BIAS expect wrong_value -- forgets the bias
// assay: twin BIAS_TWICE expect wrong_value -- adds the bias once for every input channel
// assay: twin STRIDE_3 expect wrong_value -- stride 3
// assay: twin NO_PADDING expect wrong_value -- windows start at the pixel itself
// assay: twin EDGE_PADDING expect wrong_value -- repeats the pixels at the edge instead of padding with zeros
#include <assay/candidate.h>

#define K 11
#ifdef STRIDE_3
#define STRIDE 3
#else
#define STRIDE 4
#endif
#ifdef NO_PADDING
#define PADDING 0
#else
#define PADDING 2
#endif

static int64_t clamp(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}

static float window(const float *x, const float *w, const int64_t *in, int64_t top, int64_t left) {
  float sum = 0;
  for (int64_t i = 0; i < K; i++)
    for (int64_t j = 0; j < K; j++) {
      int64_t h = top + i, v = left + j;
#ifdef EDGE_PADDING
      h = clamp(h, 0, in[2] - 1), v = clamp(v, 0, in[3] - 1);
#endif
      if (h == clamp(h, 0, in[2] - 1) && v == clamp(v, 0, in[3] - 1))
        sum += x[h * in[3] + v] * w[i * K + j];
    }
  return sum;
}

static void maps(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data, *w = args->inputs[1].data, *bias = args->inputs[2].data;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  for (int64_t m = begin; m < end; m++) {
    int64_t n = m / out[1], o = m % out[1];
    float *y = (float *)args->outputs[0].data + m * out[2] * out[3];
    for (int64_t h = 0; h < out[2]; h++)
      for (int64_t v = 0; v < out[3]; v++) {
#ifdef NO_BIAS
        float sum = 0 * bias[o];
#else
        float sum = bias[o];
#endif
        for (int64_t c = 0; c < in[1]; c++) {
          sum += window(x + (n * in[1] + c) * in[2] * in[3], w + (o * in[1] + c) * K * K, in, h * STRIDE - PADDING,
                        v * STRIDE - PADDING);
#ifdef BIAS_TWICE
          sum += c > 0 ? bias[o] : 0;
#endif
        }
        y[h * out[3] + v] = sum;
      }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
