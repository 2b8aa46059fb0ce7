// Log-softmax over rows: x - max - log(sum of e^(x - max)).
// assay: task kernelbench/1/24
// assay: expect pass
// assay: twin NO_MAX expect wrong_class|wrong_value -- no subtraction of the maximum
// assay: twin LOG_OF_QUOTIENT expect wrong_class|wrong_value -- log(softmax(x)): log 0 where the quotient underflows
// assay: twin LOG_UNNORMALISED expect wrong_value -- x - max without the log of the sum
// assay: twin LOG2 expect wrong_value -- logarithm to base 2
// assay: twin SOFTMAX expect wrong_value -- forgets the logarithm
#include <assay/candidate.h>
#include <math.h>

static void row(const float *x, float *y, int64_t n) {
  float max = x[0];
  for (int64_t j = 1; j < n; j++)
    max = x[j] > max ? x[j] : max;
#ifdef NO_MAX
  max = 0;
#endif
  double sum = 0;
  for (int64_t j = 0; j < n; j++)
    sum += expf(x[j] - max);
#ifdef LOG_UNNORMALISED
  sum = 1;
#endif
#ifdef LOG2
  float log_sum = (float)log2(sum);
#else
  float log_sum = (float)log(sum);
#endif
  for (int64_t j = 0; j < n; j++) {
#if defined(LOG_OF_QUOTIENT)
    y[j] = logf(expf(x[j] - max - log_sum));
#elif defined(SOFTMAX)
    y[j] = expf(x[j] - max - log_sum);
#else
    y[j] = x[j] - max - log_sum;
#endif
  }
}

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  int64_t n = args->inputs[0].dims[1];
  for (int64_t i = begin; i < end; i++)
    row((const float *)args->inputs[0].data + i * n, (float *)args->outputs[0].data + i * n, n);
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0], rows, (void *)args);
}
