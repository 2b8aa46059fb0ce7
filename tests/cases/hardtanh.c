// Hard tanh: x clamped to [-1, 1].
// assay: task kernelbench/1/32
// assay: expect pass
// assay: twin IDENTITY expect wrong_value -- right only where |x| <= 1
// assay: twin ONE_SIDE expect wrong_value -- clamps from above only
// assay: twin RELU1 expect wrong_value -- clamps to [0, 1]
#include <assay/candidate.h>

#ifdef RELU1
#define LOW 0.0f
#else
#define LOW -1.0f
#endif

static float clamp(float x) {
#if defined(IDENTITY)
  return x;
#elif defined(ONE_SIDE)
  return x > 1 ? 1 : x;
#else
  x = x < LOW ? LOW : x;
  return x > 1 ? 1 : x;
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++)
    y[i] = clamp(x[i]);
}
