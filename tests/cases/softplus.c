// Softplus, log(1 + e^x), without overflow for large x and without losing the small results of negative x.
// assay: task kernelbench/1/29
// assay: expect pass
// assay: twin OVERFLOWS expect wrong_class -- log1p(e^x) for every x
// assay: twin NO_LOG1P expect wrong_value|low_precision -- log(1 + e^x): 0 for x < -17
// assay: twin RELU expect wrong_value -- its asymptote
#include <assay/candidate.h>
#include <math.h>

static float softplus(float x) {
#if defined(OVERFLOWS)
  return log1pf(expf(x));
#elif defined(NO_LOG1P)
  return (x > 0 ? x : 0) + logf(1 + expf(-fabsf(x)));
#elif defined(RELU)
  return x < 0 ? 0 : x;
#else
  return (x < 0 ? 0 : x) + log1pf(expf(-fabsf(x)));
#endif
}

static void span(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  for (int64_t i = begin; i < end; i++)
    y[i] = softplus(x[i]);
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, assay_count(&args->inputs[0]), span, (void *)args);
}
