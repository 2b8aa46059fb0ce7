// Cumulative sum along rows from the right: y[j] = x[j] + x[j + 1] + ...
// assay: task kernelbench/1/91
// assay: expect pass
// assay: twin FORWARD expect wrong_value -- sums from the left
// assay: twin FLIPPED expect wrong_value -- sums from the right, but stores from the left
// assay: twin TOTAL_MINUS expect wrong_value|low_precision|wrong_class -- total less the forward sum: cancels
#include <assay/candidate.h>

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  int64_t n = args->inputs[0].dims[1];
  for (int64_t i = begin; i < end; i++) {
    const float *x = (const float *)args->inputs[0].data + i * n;
    float *y = (float *)args->outputs[0].data + i * n;
#if defined(TOTAL_MINUS)
    float total = 0, sum = 0;
    for (int64_t j = 0; j < n; j++)
      total += x[j];
    for (int64_t j = 0; j < n; j++) {
      y[j] = total - sum;
      sum += x[j];
    }
#elif defined(FORWARD)
    float sum = 0;
    for (int64_t j = 0; j < n; j++)
      y[j] = sum += x[j];
#else
    float sum = 0;
    for (int64_t j = n - 1; j >= 0; j--) {
      sum += x[j];
#ifdef FLIPPED
      y[n - 1 - j] = sum;
#else
      y[j] = sum;
#endif
    }
#endif
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0], rows, (void *)args);
}
