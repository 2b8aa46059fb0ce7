// The logarithm of a softmax in the forms that kernels have; what the error scale makes of each.
// assay: task kernelbench/1/24
// assay: expect pass -- x - max - log sum
// assay: twin BASE_2 expect pass -- by 2^x and log2
// assay: twin JOINED expect low_precision|wrong_value -- x - (max + log sum)
// assay: twin LOG_OF_QUOTIENT expect wrong_class|wrong_value|low_precision -- log(e^(x - max) / sum)
#include <math.h>

#include <assay/candidate.h>

#define LOG2E 1.44269504088896340736f
#define LN2 0.693147180559945309417f

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t rows = args->inputs[0].dims[0], n = args->inputs[0].dims[1];
  for (int64_t r = 0; r < rows; r++, x += n, y += n) {
    float max = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
      max = fmaxf(max, x[i]);
    for (int64_t i = 0; i < n; i++)
#ifdef BASE_2
      sum += exp2f((x[i] - max) * LOG2E);
    float log_sum = log2f(sum) * LN2;
#else
      sum += expf(x[i] - max);
    float log_sum = logf(sum);
#endif
    for (int64_t i = 0; i < n; i++)
#if defined JOINED
      y[i] = x[i] - (max + log_sum);
#elif defined LOG_OF_QUOTIENT
      y[i] = logf(expf(x[i] - max) / sum);
#else
        y[i] = x[i] - max - log_sum;
#endif
  }
}
