// Huber loss with beta 1 (PyTorch's smooth L1), averaged: d^2 / 2 where |d| < 1, else |d| - 1/2. Sums pairwise.
// assay: task kernelbench/1/96
// assay: expect pass
// assay: twin QUADRATIC expect wrong_value -- d^2 / 2 everywhere, which is right where no difference reaches 1
// assay: twin NO_HALF expect wrong_value -- |d| instead of |d| - 1/2
// assay: twin ODD_HALF expect wrong_value -- halves of odd length lose their last element
// assay: twin BETA_2 expect wrong_value -- beta 2
// assay: twin SAMPLED expect wrong_value -- the mean over the first eighth of the data
#include <assay/candidate.h>
#include <math.h>

#ifdef BETA_2
#define BETA 2.0f
#else
#define BETA 1.0f
#endif

static float loss(float p, float t) {
  float d = fabsf(p - t);
#if defined(QUADRATIC)
  return 0.5f * d * d;
#elif defined(NO_HALF)
  return d < 1 ? 0.5f * d * d : d;
#else
  return d < BETA ? 0.5f * d * d / BETA : d - 0.5f * BETA;
#endif
}

static double sum_of(const float *p, const float *t, int64_t n) {
  if (n > 512) {
    int64_t half = n / 2;
#ifdef ODD_HALF
    return sum_of(p, t, half) + sum_of(p + half, t + half, half);
#else
    return sum_of(p, t, half) + sum_of(p + half, t + half, n - half);
#endif
  }
  float sum = 0;
  for (int64_t i = 0; i < n; i++)
    sum += loss(p[i], t[i]);
  return sum;
}

void assay_kernel(const struct assay_args *args) {
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
#ifdef SAMPLED
  n = (n + 7) / 8;
#endif
  *y = (float)(sum_of(args->inputs[0].data, args->inputs[1].data, n) / (double)n);
}
