// Mean over the middle dimension.
// assay: task kernelbench/1/48
// assay: expect pass
// assay: twin SUM expect wrong_value -- forgets the division
// assay: twin N_MINUS_1 expect wrong_value|wrong_class -- divides by one less
// assay: twin OTHER_COUNT expect wrong_value -- divides by the extent of the last dimension
// assay: twin SAMPLED expect wrong_value -- the mean of every 8th row
#include <assay/candidate.h>

static void batches(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  int64_t m = args->inputs[0].dims[1], n = args->inputs[0].dims[2];
  for (int64_t b = begin; b < end; b++) {
    const float *x = (const float *)args->inputs[0].data + b * m * n;
    float *y = (float *)args->outputs[0].data + b * n;
    for (int64_t j = 0; j < n; j++)
      y[j] = x[j];
#ifdef SAMPLED
    for (int64_t i = 8; i < m; i += 8)
#else
    for (int64_t i = 1; i < m; i++)
#endif
      for (int64_t j = 0; j < n; j++)
        y[j] += x[i * n + j];
#if defined(SUM)
    float count = 1;
#elif defined(N_MINUS_1)
    float count = (float)(m - 1);
#elif defined(OTHER_COUNT)
    float count = (float)n;
#elif defined(SAMPLED)
    float count = (float)((m + 7) / 8);
#else
    float count = (float)m;
#endif
    for (int64_t j = 0; j < n; j++)
      y[j] /= count;
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0], batches, (void *)args);
}
