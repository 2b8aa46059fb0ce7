// Softmax over rows with an exponential of its own that the compiler can vectorise (the C library's expf cannot be).
// Several times as fast as softmax_three_sweeps.c.
// assay: task kernelbench/1/23
// assay: expect pass
// assay: twin FAST_EXP expect low_precision|wrong_value -- e^x from the bits of an integer (Schraudolph), 3 % off
// assay: twin SHORT_SERIES expect low_precision|wrong_value -- a polynomial of degree 3
// assay: twin NO_CLAMP expect wrong_value|wrong_class -- exponents out of range for very negative x
// assay: twin HARD_CODED expect unwritten|out_of_bounds|crashed -- always 1024 columns
#include <assay/candidate.h>
#include <string.h>

// e^x for x <= 0, within 1.5 units in the last place. x = n ln 2 + r with |r| <= ln 2 / 2, then a Taylor polynomial in
// r, then two steps of scaling so that results down to the smallest subnormal come out right.
static inline float exponential(float x) {
#ifndef NO_CLAMP
  x = x < -110.0f ? -110.0f : x; // e^-110 is 0 in single precision
#endif
#ifdef FAST_EXP
  x = x < -87 ? -87 : x;
  int32_t bits = (int32_t)(12102203.0f * x) + 1064866805;
  float y;
  memcpy(&y, &bits, sizeof y);
  return y;
#else
  float n = x * 1.44269504f + 12582912.0f - 12582912.0f; // adding and taking away 1.5 * 2^23 rounds to an integer
  float r = (x - n * 0.693359375f) + n * 2.12194440e-4f; // ln 2 in two parts; the first product is exact
#ifdef SHORT_SERIES
  float p = 1 + r * (1 + r * (1.0f / 2 + r * (1.0f / 6)));
#else
  float p = 1.0f / 120 + r * (1.0f / 720 + r * (1.0f / 5040));
  p = 1 + r * (1 + r * (1.0f / 2 + r * (1.0f / 6 + r * (1.0f / 24 + r * p))));
#endif
  int32_t whole = (int32_t)n, half = whole / 2;
  int32_t a = (half + 127) << 23, b = (whole - half + 127) << 23;
  float fa, fb;
  memcpy(&fa, &a, sizeof fa);
  memcpy(&fb, &b, sizeof fb);
  return p * fa * fb;
#endif
}

enum { LANES = 32 }; // independent partial sums: they vectorise, and their rounding errors stay small

static void row(const float *x, float *y, int64_t n) {
  float max[LANES], top = x[0];
  float sum[LANES] = {0};
  for (int l = 0; l < LANES; l++)
    max[l] = x[0];
  int64_t whole = n / LANES * LANES;
  for (int64_t j = 0; j < whole; j += LANES)
    for (int l = 0; l < LANES; l++)
      max[l] = x[j + l] > max[l] ? x[j + l] : max[l];
  for (int l = 0; l < LANES; l++)
    top = max[l] > top ? max[l] : top;
  for (int64_t j = whole; j < n; j++)
    top = x[j] > top ? x[j] : top;

  for (int64_t j = 0; j < whole; j += LANES)
    for (int l = 0; l < LANES; l++)
      sum[l] += y[j + l] = exponential(x[j + l] - top);
  double total = 0;
  for (int64_t j = whole; j < n; j++)
    total += y[j] = exponential(x[j] - top);
  for (int l = 0; l < LANES; l++)
    total += sum[l];

  float inverse = (float)(1 / total);
  for (int64_t j = 0; j < n; j++)
    y[j] *= inverse;
}

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  int64_t n = args->inputs[0].dims[1];
#ifdef HARD_CODED
  n = 1024;
#endif
  for (int64_t i = begin; i < end; i++)
    row((const float *)args->inputs[0].data + i * n, (float *)args->outputs[0].data + i * n, n);
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0], rows, (void *)args);
}
