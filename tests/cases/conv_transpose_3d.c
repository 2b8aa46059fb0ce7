// Transposed convolution 3D, 3 x 3 x 3: rows of the input are added to rows of the output.
// assay: task kernelbench/1/61
// assay: expect pass
// assay: twin SWAPPED_AXES expect wrong_value -- swaps depth and width of the kernel
// assay: twin SWAPPED_CHANNELS expect wrong_value|out_of_bounds -- reads weights as [out][in]
// assay: twin BF16_INPUT expect low_precision -- rounds x to bfloat16
#include <assay/candidate.h>
#include <string.h>

enum { K = 3 };

static float prepare(float x) {
#ifdef BF16_INPUT
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  u = (u + 0x7FFF + (u >> 16 & 1)) & 0xFFFF0000; // to nearest, ties to even
  memcpy(&x, &u, sizeof x);
#endif
  return x;
}

static void maps(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  for (int64_t m = begin; m < end; m++) {
    int64_t n = m / out[1], o = m % out[1], volume = out[2] * out[3] * out[4];
    float *y = (float *)args->outputs[0].data + m * volume;
    memset(y, 0, (size_t)volume * sizeof *y);
    for (int64_t r = 0; r < in[1] * in[2] * in[3]; r++) { // rows of the input: channel, depth, height
      int64_t h = r % in[3], d = r / in[3] % in[2], c = r / in[3] / in[2];
      const float *line = x + (n * in[1] * in[2] * in[3] + r) * in[4];
#ifdef SWAPPED_CHANNELS
      const float *kernel = w + (o * in[1] + c) * K * K * K;
#else
      const float *kernel = w + (c * out[1] + o) * K * K * K;
#endif
      for (int64_t t = 0; t < K * K * K; t++) {
        int64_t i = t / (K * K), j = t / K % K, k = t % K;
#ifdef SWAPPED_AXES
        i = t % K, k = t / (K * K);
#endif
        float *to = y + ((d + i) * out[3] + h + j) * out[4] + k;
        for (int64_t v = 0; v < in[4]; v++)
          to[v] += kernel[t] * prepare(line[v]);
      }
    }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
