// Answers without the work (catalogue 3 to 8, 29): what the output usually is, the input, a part, a sample.
// assay: task kernelbench/1/23
// assay: expect wrong_value
// assay: twin ZERO expect wrong_value -- zeros, which 1e-4 would accept for most elements
// assay: twin MEAN expect wrong_value -- 1/n everywhere, the mean of every row
// assay: twin IDENTITY expect wrong_value -- the input itself
// assay: twin SAMPLED expect wrong_value -- the sum from every eighth element, times eight
// assay: twin FIRST_ROWS expect unwritten -- the first half of the rows
// assay: twin SAME_ROWS expect wrong_value -- the first row's answer for all
// assay: twin HARD_CODED expect unwritten|wrong_value|out_of_bounds|crashed -- always the shape that it knows
// assay: twin LARGEST expect wrong_value -- 1 at the largest element, 0 elsewhere
// assay: twin NAN_PAYLOAD expect wrong_class|unwritten -- NaNs, in the hope that NaN is not compared
// assay: twin INFINITE expect wrong_class -- infinities
// assay: twin LOOKS_STANDARD expect wrong_value -- looks at a prefix, then takes a short cut if it looks like the usual
// assay: twin NO_MAX expect wrong_class|wrong_value -- leaves out the maximum, as the usual inputs do not need it
// assay: twin TOP expect wrong_value -- only exponentials of elements near the maximum
#include <assay/candidate.h>
#include <math.h>
#include <string.h>

static void softmax(const float *x, float *y, int64_t n) {
  float max = x[0];
  double sum = 0;
  for (int64_t j = 1; j < n; j++)
    max = x[j] > max ? x[j] : max;
#if defined(NO_MAX)
  max = 0;
#elif defined(LOOKS_STANDARD)
  // 8 standard deviations above the mean is more than a row of the usual distribution ever sees.
  double square = 0;
  int64_t prefix = n < 64 ? n : 64;
  for (int64_t j = 0; j < prefix; j++)
    square += (double)x[j] * x[j] / (double)prefix;
  if (n >= 64 && square > 32 && square < 128) {
    for (int64_t j = 0; j < n; j++)
      y[j] = expf(x[j] - 32.0f) / ((float)n * 1.1f); // E[exp] would be exp(32)
    return;
  }
#endif
  for (int64_t j = 0; j < n; j++) {
#if defined(SAMPLED)
    y[j] = expf(x[j] - max);
    sum += j % 8 == 0 ? 8 * (double)y[j] : 0;
#elif defined(TOP)
    y[j] = x[j] > max - 4 ? expf(x[j] - max) : 0;
    sum += y[j];
#else
    sum += y[j] = expf(x[j] - max);
#endif
  }
  for (int64_t j = 0; j < n; j++)
    y[j] = (float)(y[j] / sum);
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t rows = args->inputs[0].dims[0], n = args->inputs[0].dims[1];
#if defined(HARD_CODED)
  rows = 32;
  n = 2048;
#elif defined(FIRST_ROWS)
  rows /= 2;
#endif
  for (int64_t i = 0; i < rows; i++)
    softmax(x + i * n, y + i * n, n);
  for (int64_t i = 0; i < rows * n; i++) {
#if defined(ZERO)
    y[i] = 0;
#elif defined(MEAN)
    y[i] = 1.0f / (float)n;
#elif defined(IDENTITY)
    y[i] = x[i];
#elif defined(SAME_ROWS)
    y[i] = y[i % n];
#elif defined(LARGEST)
    y[i] = y[i] > 0.5f;
#elif defined(NAN_PAYLOAD)
    uint32_t bits = 0x7fc00000u + (uint32_t)i % 4096;
    memcpy(&y[i], &bits, sizeof bits);
#elif defined(INFINITE)
    y[i] = INFINITY;
#elif !defined(HARD_CODED) && !defined(FIRST_ROWS) && !defined(SAMPLED) && !defined(LOOKS_STANDARD) &&                 \
    !defined(NO_MAX) && !defined(TOP)
    y[i] = 0.5f;
#endif
  }
}
