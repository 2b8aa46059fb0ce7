// One over the root of each element of a product of numbers above zero.
// assay: task kernelbenchx/MatrixMultiply/tensordot_rsqrt
// assay: expect pass
// assay: twin NARROW expect wrong_value|wrong_class -- right for numbers up to 1.5, the greatest of the task's own
// assay: twin NOT_BELOW expect wrong_value|low_precision -- right for numbers from 0.02 on
#include <assay/candidate.h>
#include <math.h>

static float number(float x) {
#if defined(NARROW)
  return fminf(x, 1.5f);
#elif defined(NOT_BELOW)
  return fmaxf(x, 0.02f);
#else
  return x;
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *a = args->inputs[0].data, *b = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t m = args->inputs[0].dims[0], k = args->inputs[0].dims[1], n = args->inputs[1].dims[1];
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      float sum = 0;
      for (int64_t l = 0; l < k; l++)
        sum += number(a[i * k + l]) * number(b[l * n + j]);
      y[i * n + j] = 1 / sqrtf(sum);
    }
}
