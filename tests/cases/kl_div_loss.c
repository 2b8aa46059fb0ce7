// Kullback-Leibler divergence of rows of probabilities: sum of t (log t - log p), averaged over the batch.
// assay: task kernelbench/1/98
// assay: expect pass
// assay: twin SWAPPED expect wrong_value -- sum of p (log p - log t)
// assay: twin ELEMENT_MEAN expect wrong_value -- averages over all elements ("mean" instead of "batchmean")
// assay: twin CROSS_ENTROPY expect wrong_value -- leaves t log t out
// assay: twin FIRST_ORDER expect wrong_value -- log(t / p) taken for t / p - 1
#include <assay/candidate.h>
#include <math.h>

static double term(double p, double t) {
#if defined(SWAPPED)
  return p * log(p / t);
#elif defined(CROSS_ENTROPY)
  return -t * log(p);
#elif defined(FIRST_ORDER)
  return t * (t / p - 1);
#else
  return t > 0 ? t * log(t / p) : 0; // t log t tends to 0
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *p = args->inputs[0].data, *t = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]), rows = args->inputs[0].dims[0];
  double sum = 0;
  for (int64_t i = 0; i < n; i++)
    sum += term(p[i], t[i]);
#ifdef ELEMENT_MEAN
  rows = n;
#endif
  *y = (float)(sum / (double)rows);
}
