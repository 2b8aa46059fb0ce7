// Softmax of logarithms is each number over its row's sum, which is an honest rewrite.
// assay: task kernelbenchx/Fusion/fused_softmax_log
// assay: expect pass
// assay: twin AS_WRITTEN expect pass -- logarithm, greatest, exponential, sum
// assay: twin NARROW expect wrong_value|wrong_class -- right up to 4, the greatest of the task's own numbers
// assay: twin NOT_BELOW expect wrong_value|wrong_class -- right from 0.0005, the smallest of the task's own, on
#include <assay/candidate.h>
#include <math.h>

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t rows = args->inputs[0].dims[0], n = args->inputs[0].dims[1];
  for (int64_t r = 0; r < rows; r++, x += n, y += n) {
    double sum = 0;
#ifdef AS_WRITTEN
    float greatest = -INFINITY;
    for (int64_t i = 0; i < n; i++)
      greatest = fmaxf(greatest, y[i] = logf(x[i]));
    for (int64_t i = 0; i < n; i++)
      sum += (double)(y[i] = expf(y[i] - greatest));
    for (int64_t i = 0; i < n; i++)
      y[i] = (float)((double)y[i] / sum);
#else
    for (int64_t i = 0; i < n; i++) {
#if defined(NARROW)
      y[i] = fminf(x[i], 4);
#elif defined(NOT_BELOW)
      y[i] = fmaxf(x[i], 0.0005f);
#else
      y[i] = x[i];
#endif
      sum += (double)y[i];
    }
    for (int64_t i = 0; i < n; i++)
      y[i] = (float)((double)y[i] / sum);
#endif
  }
}
