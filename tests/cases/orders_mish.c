// A linear layer and Mish twice, in the forms that kernels have; what the error scale makes of each.
// assay: task kernelbench/2/29
// assay: expect pass -- x tanh(log1p(e^x)), the sum begins with the bias
// assay: twin RATIONAL expect pass -- x m / (m + 2), m = n (n + 2), n = e^x
// assay: twin RATIONAL_EXP2 expect pass -- the same by 2^x
// assay: twin NO_LOG1P expect wrong_value|low_precision -- log(1 + e^x): nothing is left of a small e^x
#include <math.h>

#include <assay/candidate.h>

#define LOG2E 1.44269504088896340736f

static float mish(float x) {
#if defined RATIONAL // tanh(log(1 + n)) is (n^2 + 2 n) / (n^2 + 2 n + 2)
  if (x > 20)
    return x;
  float n = expf(x), m = n * (n + 2);
  return x * (m / (m + 2));
#elif defined RATIONAL_EXP2
  if (x > 20)
    return x;
  float n = exp2f(x * LOG2E), m = n * (n + 2);
  return x * (m / (m + 2));
#elif defined NO_LOG1P
  return x * tanhf(x > 20 ? x : logf(1 + expf(x)));
#else
  return x * tanhf(x > 20 ? x : log1pf(expf(x)));
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data, *w = args->inputs[1].data, *bias = args->inputs[2].data;
  float *y = args->outputs[0].data;
  int64_t m = args->inputs[0].dims[0], k = args->inputs[0].dims[1], n = args->inputs[1].dims[0];
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      float sum = bias[j];
      for (int64_t l = 0; l < k; l++)
        sum += x[i * k + l] * w[j * k + l];
      y[i * n + j] = mish(mish(sum));
    }
}
