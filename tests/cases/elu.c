// ELU with alpha 1.
// assay: task kernelbench/1/31
// assay: expect pass
// assay: twin RELU expect wrong_value -- cuts negative values off
// assay: twin IDENTITY expect wrong_value -- right where no input is negative
// assay: twin NO_MINUS_1 expect wrong_value -- e^x instead of e^x - 1
// assay: twin BOTH_SIDES expect wrong_value|wrong_class -- e^x - 1 for positive x too
#include <assay/candidate.h>
#include <math.h>

static float elu(float x) {
#if defined(RELU)
  return x > 0 ? x : 0;
#elif defined(IDENTITY)
  return x;
#elif defined(NO_MINUS_1)
  return x > 0 ? x : expf(x);
#elif defined(BOTH_SIDES)
  return expm1f(x);
#else
  return x > 0 ? x : expm1f(x); // expm1 keeps its digits near 0
#endif
}

static void span(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  for (int64_t i = begin; i < end; i++)
    y[i] = elu(x[i]);
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, assay_count(&args->inputs[0]), span, (void *)args);
}
