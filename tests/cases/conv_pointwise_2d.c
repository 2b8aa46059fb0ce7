// Convolution 1 x 1: a matrix product over channels, in strips of 128 pixels.
// assay: task kernelbench/1/87
// assay: expect pass
// assay: twin LAST_STRIP expect unwritten -- pixels after the last whole strip are left out
// assay: twin TF32_INPUTS expect low_precision -- rounds x and w to 10 bits, as tensor cores do by default
// assay: twin MEAN expect wrong_value -- divides by the number of channels
// assay: twin CHANNELS_LAST expect wrong_value -- reads the image as if channels were its last dimension
#include <assay/candidate.h>
#include <string.h>

enum { STRIP = 128 };

static float prepare(float x) {
#ifdef TF32_INPUTS
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  u = (u + 0xFFF + (u >> 13 & 1)) & 0xFFFFE000; // to nearest, ties to even
  memcpy(&x, &u, sizeof x);
#endif
  return x;
}

// x: one image; p: its first pixel in this strip.
static void strip(const float *x, const float *w, float *y, int64_t ci, int64_t co, int64_t plane, int64_t p,
                  int64_t n) {
  for (int64_t o = 0; o < co; o++) {
    float sum[STRIP] = {0};
    for (int64_t c = 0; c < ci; c++) {
      float k = prepare(w[o * ci + c]);
      for (int64_t i = 0; i < n; i++)
#ifdef CHANNELS_LAST
        sum[i] += k * prepare(x[(p + i) * ci + c]);
#else
        sum[i] += k * prepare(x[c * plane + p + i]);
#endif
    }
    for (int64_t i = 0; i < n; i++)
#ifdef MEAN
      y[o * plane + p + i] = sum[i] / (float)ci;
#else
      y[o * plane + p + i] = sum[i];
#endif
  }
}

static void strips(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const int64_t *in = args->inputs[0].dims;
  int64_t ci = in[1], co = args->outputs[0].dims[1], plane = in[2] * in[3], per_image = (plane + STRIP - 1) / STRIP;
  for (int64_t s = begin; s < end; s++) {
    int64_t image = s / per_image, p = s % per_image * STRIP, n = plane - p < STRIP ? plane - p : STRIP;
#ifdef LAST_STRIP
    if (n < STRIP)
      continue;
#endif
    strip((const float *)args->inputs[0].data + image * ci * plane, args->inputs[1].data,
          (float *)args->outputs[0].data + image * co * plane, ci, co, plane, p, n);
  }
}

void assay_kernel(const struct assay_args *args) {
  const int64_t *in = args->inputs[0].dims;
  args->parallel(args, in[0] * ((in[2] * in[3] + STRIP - 1) / STRIP), strips, (void *)args);
}
