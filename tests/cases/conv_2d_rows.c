// Convolution 2D, 3 x 3, a whole row of outputs at a time: each weight is multiplied with a shifted row of the input,
// which vectorises. Rows of four output channels share what they read.
// assay: task kernelbench/1/63
// assay: expect pass
// assay: twin LEFT_CHANNELS expect unwritten -- output channels after the last whole group of four are left out
// assay: twin STALE_ROW expect wrong_value -- the last output row repeats the one above it
// assay: twin MISSING_TAP expect wrong_value -- the last tap of each kernel row is left out
#include <assay/candidate.h>
#include <string.h>

enum { K = 3, GROUP = 4 };

static void row(const float *x, const float *w, float *const *y, int64_t group, const int64_t *in, int64_t width) {
  for (int64_t g = 0; g < group; g++)
    memset(y[g], 0, (size_t)width * sizeof(float));
  for (int64_t c = 0; c < in[1]; c++)
    for (int64_t i = 0; i < K; i++) {
      const float *line = x + (c * in[2] + i) * in[3];
      for (int64_t g = 0; g < group; g++) {
        const float *k = w + ((g * in[1] + c) * K + i) * K;
        float *out = y[g];
#ifdef MISSING_TAP
        for (int64_t v = 0; v < width; v++)
          out[v] += k[0] * line[v] + k[1] * line[v + 1];
#else
        for (int64_t v = 0; v < width; v++)
          out[v] += k[0] * line[v] + k[1] * line[v + 1] + k[2] * line[v + 2];
#endif
      }
    }
}

static void groups(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  int64_t n_groups = (out[1] + GROUP - 1) / GROUP;
  for (int64_t t = begin; t < end; t++) {
    int64_t n = t / n_groups, o = t % n_groups * GROUP, group = out[1] - o < GROUP ? out[1] - o : GROUP;
#ifdef LEFT_CHANNELS
    if (group < GROUP)
      continue;
#endif
    for (int64_t h = 0; h < out[2]; h++) {
      float *y[GROUP];
      for (int64_t g = 0; g < group; g++)
        y[g] = (float *)args->outputs[0].data + ((n * out[1] + o + g) * out[2] + h) * out[3];
      int64_t from = h;
#ifdef STALE_ROW
      from = h == out[2] - 1 && h > 0 ? h - 1 : h;
#endif
      row(x + (n * in[1] * in[2] + from) * in[3], w + o * in[1] * K * K, y, group, in, out[3]);
    }
  }
}

void assay_kernel(const struct assay_args *args) {
  const int64_t *out = args->outputs[0].dims;
  args->parallel(args, out[0] * ((out[1] + GROUP - 1) / GROUP), groups, (void *)args);
}
