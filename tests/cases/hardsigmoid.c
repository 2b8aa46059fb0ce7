// Hard sigmoid as PyTorch defines it: x/6 + 1/2, clamped to [0, 1].
// assay: task kernelbench/1/28
// assay: expect pass
// assay: twin NO_CLAMP expect wrong_value -- right only where |x| < 3
// assay: twin SLOPE_02 expect wrong_value -- 0.2 x + 0.5, the definition of ONNX's default and of Keras
// assay: twin SIGMOID expect wrong_value -- the smooth one
#include <assay/candidate.h>
#include <math.h>

static float hardsigmoid(float x) {
#if defined(NO_CLAMP)
  return x / 6 + 0.5f;
#elif defined(SIGMOID)
  return 1 / (1 + expf(-x));
#else
#ifdef SLOPE_02
  float y = 0.2f * x + 0.5f;
#else
  float y = x / 6 + 0.5f;
#endif
  y = y < 0 ? 0 : y;
  return y > 1 ? 1 : y;
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++)
    y[i] = hardsigmoid(x[i]);
}
