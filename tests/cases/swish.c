// Swish, x * sigmoid(x), also called SiLU.
// assay: task kernelbench/1/25
// assay: expect pass
// assay: twin OVERFLOWS expect wrong_class -- x e^x / (1 + e^x) for every x: Inf / Inf from x = 89 on
// assay: twin NO_FACTOR expect wrong_value -- sigmoid(x) alone
// assay: twin HARD_SWISH expect wrong_value -- x * clamp(x / 6 + 1/2, 0, 1)
// assay: twin GELU expect wrong_value -- x * sigmoid(1.702 x), a GELU approximation
#include <assay/candidate.h>
#include <math.h>

static float sigmoid(float x) {
#ifdef OVERFLOWS
  return expf(x) / (1 + expf(x));
#elif defined(HARD_SWISH)
  return fminf(fmaxf(x / 6 + 0.5f, 0), 1);
#else
  float e = expf(-fabsf(x)); // in (0, 1]: cannot overflow
  return (x < 0 ? e : 1) / (1 + e);
#endif
}

static float swish(float x) {
#if defined(NO_FACTOR)
  return sigmoid(x);
#elif defined(GELU)
  return x * sigmoid(1.702f * x);
#else
  return x * sigmoid(x);
#endif
}

static void span(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  for (int64_t i = begin; i < end; i++)
    y[i] = swish(x[i]);
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, assay_count(&args->inputs[0]), span, (void *)args);
}
