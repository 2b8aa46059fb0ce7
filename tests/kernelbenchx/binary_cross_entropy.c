// The mean of binary cross entropies. Probes ask at probabilities nearer to 0 and 1 than the task's own, which lie
// between 0.002 and 0.95.
// assay: task kernelbenchx/Loss/binary_cross_entropy
// assay: expect pass
// assay: twin CLAMPED expect pass -- logarithms of -100 at least, as PyTorch has them
// assay: twin NOT_NEAR_ONE expect wrong_value -- probabilities up to 0.95 only
// assay: twin NOT_NEAR_ZERO expect wrong_value -- probabilities from 0.002 on only
// assay: twin LABELS expect wrong_value -- targets of 0 and 1 only
#include <assay/candidate.h>
#include <math.h>

void assay_kernel(const struct assay_args *args) {
  const float *p = args->inputs[0].data, *t = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    float x = p[i], target = t[i];
#if defined(NOT_NEAR_ONE)
    x = fminf(x, 0.95f);
#elif defined(NOT_NEAR_ZERO)
    x = fmaxf(x, 0.002f);
#elif defined(LABELS)
    target = roundf(target);
#endif
    float a = logf(x), b = logf(1 - x);
#ifdef CLAMPED
    a = fmaxf(a, -100);
    b = fmaxf(b, -100);
#endif
    sum -= (double)(target * a) + (double)((1 - target) * b);
  }
  *y = (float)(sum / (double)n);
}
