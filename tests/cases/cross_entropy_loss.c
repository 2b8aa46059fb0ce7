// Cross-entropy of logits against class numbers, averaged over the batch: log(sum of e^x) - x[label].
// assay: task kernelbench/1/95
// assay: expect pass
// assay: twin JOINED expect pass -- log-sum-exp as one number of single precision, less the label's score
// assay: twin NO_MAX expect wrong_class -- no subtraction of the maximum: overflows for large logits
// assay: twin SUM expect wrong_value -- the sum over the batch, not its mean
// assay: twin CLASS_0 expect wrong_value -- ignores the labels
// assay: twin MEAN_LOGIT expect wrong_value -- log of the mean of e^x
// assay: twin INT32_LABELS expect wrong_value -- reads 64-bit labels as 32-bit ones
// assay: twin CONSTANT expect wrong_value -- log(classes) + 1/2, the expected value for normal logits
#include <assay/candidate.h>
#include <math.h>

static double row_loss(const float *x, int64_t n, int64_t label) {
  float max = x[0];
  for (int64_t j = 1; j < n; j++)
    max = x[j] > max ? x[j] : max;
#ifdef NO_MAX
  max = 0;
#endif
  double sum = 0;
  for (int64_t j = 0; j < n; j++)
    sum += expf(x[j] - max);
#ifdef NO_MAX
  sum = (float)sum;
#endif
#ifdef MEAN_LOGIT
  sum /= (double)n;
#endif
#ifdef JOINED
  return (float)(max + (float)log(sum)) - x[label];
#endif
  return max + log(sum) - x[label];
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t rows = args->inputs[0].dims[0], classes = args->inputs[0].dims[1];
#ifdef INT32_LABELS
  const int32_t *labels = args->inputs[1].data;
#else
  const int64_t *labels = args->inputs[1].data;
#endif
  double loss = 0;
  for (int64_t i = 0; i < rows; i++)
#ifdef CLASS_0
    loss += row_loss(x + i * classes, classes, labels[i] < 0);
#else
    loss += row_loss(x + i * classes, classes, labels[i]);
#endif
#if defined(SUM)
  *y = (float)loss;
#elif defined(CONSTANT)
  *y = logf((float)classes) + 0.5f + 0 * (float)loss;
#else
    *y = (float)(loss / (double)rows);
#endif
}
