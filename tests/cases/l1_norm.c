// Rows divided by the mean of their absolute values.
// assay: task kernelbench/1/38
// assay: expect pass
// assay: twin SUM expect wrong_value -- divides by the sum, not by the mean
// assay: twin NO_ABS expect wrong_value -- the plain mean, which is the same where no input is negative
// assay: twin DROP_LAST expect wrong_value|low_precision|wrong_class -- the mean forgets the last element
// assay: twin LAST_ROW expect unwritten -- the last row is left out
#include <assay/candidate.h>
#include <math.h>

static void row(const float *x, float *y, int64_t n) {
  double sum = 0;
#ifdef DROP_LAST
  for (int64_t j = 0; j < n - 1; j++)
#else
  for (int64_t j = 0; j < n; j++)
#endif
#ifdef NO_ABS
    sum += x[j];
#else
    sum += fabsf(x[j]);
#endif
#ifndef SUM
  sum /= (double)n;
#endif
  for (int64_t j = 0; j < n; j++)
    y[j] = (float)(x[j] / sum);
}

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = args->inputs[0].dims[1];
  for (int64_t i = begin; i < end; i++)
    row(x + i * n, y + i * n, n);
}

void assay_kernel(const struct assay_args *args) {
  int64_t n = args->inputs[0].dims[0];
#ifdef LAST_ROW
  n--;
#endif
  args->parallel(args, n, rows, (void *)args);
}
