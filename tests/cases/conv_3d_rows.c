// Convolution 3D with a kernel of 3 x 5 x 7, a row of outputs at a time.
// assay: task kernelbench/1/66
// assay: expect pass
// assay: twin NO_DEPTH expect wrong_value -- only the kernel's first slice counts
// assay: twin FLIPPED_WIDTH expect wrong_value -- turns the kernel round along the width
// assay: twin TF32_INPUTS expect low_precision -- rounds x and w to 10 bits, as tensor cores do by default
#include <assay/candidate.h>
#include <string.h>

enum { KD = 3, KH = 5, KW = 7 };

static float prepare(float x) {
#ifdef TF32_INPUTS
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  u = (u + 0xFFF + (u >> 13 & 1)) & 0xFFFFE000; // to nearest, ties to even
  memcpy(&x, &u, sizeof x);
#endif
  return x;
}

static void row(const float *x, const float *w, float *y, const int64_t *in, int64_t width) {
  memset(y, 0, (size_t)width * sizeof *y);
#ifdef NO_DEPTH
  const int64_t slices = 1;
#else
  const int64_t slices = KD;
#endif
  for (int64_t c = 0; c < in[1]; c++)
    for (int64_t a = 0; a < slices; a++)
      for (int64_t b = 0; b < KH; b++)
        for (int64_t e = 0; e < KW; e++) {
          const float *line = x + ((c * in[2] + a) * in[3] + b) * in[4] + e;
#ifdef FLIPPED_WIDTH
          float k = prepare(w[((c * KD + a) * KH + b) * KW + KW - 1 - e]);
#else
          float k = prepare(w[((c * KD + a) * KH + b) * KW + e]);
#endif
          for (int64_t v = 0; v < width; v++)
            y[v] += k * prepare(line[v]);
        }
}

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  for (int64_t r = begin; r < end; r++) {
    int64_t h = r % out[3], d = r / out[3] % out[2], m = r / out[3] / out[2];
    row((const float *)args->inputs[0].data + ((m / out[1] * in[1] * in[2] + d) * in[3] + h) * in[4],
        (const float *)args->inputs[1].data + m % out[1] * in[1] * KD * KH * KW,
        (float *)args->outputs[0].data + r * out[4], in, out[4]);
  }
}

void assay_kernel(const struct assay_args *args) {
  const int64_t *out = args->outputs[0].dims;
  args->parallel(args, out[0] * out[1] * out[2] * out[3], rows, (void *)args);
}
