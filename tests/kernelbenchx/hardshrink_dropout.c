// A dropout whose choices are an input, then what is beyond 1/2.
// assay: task kernelbenchx/Fusion/fused_hardshrink_dropout
// assay: expect pass
// assay: twin NO_DROPOUT expect wrong_value -- keeps everything
// assay: twin UNSCALED expect wrong_value -- what is kept is not divided by 1/2
// assay: twin SHRINKS_FIRST expect wrong_value -- the threshold before the scale
// assay: twin SOFT expect wrong_value -- soft shrinkage
#include <assay/candidate.h>
#include <math.h>

static float shrunk(float x) {
#ifdef SOFT
  return x > 0.5f ? x - 0.5f : x < -0.5f ? x + 0.5f : 0;
#else
  return fabsf(x) > 0.5f ? x : 0;
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  const unsigned char *keep = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++) {
#if defined(NO_DROPOUT)
    y[i] = shrunk(2 * x[i]);
#elif defined(UNSCALED)
    y[i] = shrunk(keep[i] ? x[i] : 0);
#elif defined(SHRINKS_FIRST)
    y[i] = keep[i] ? 2 * shrunk(x[i]) : 0;
#else
    y[i] = shrunk(keep[i] ? 2 * x[i] : 0);
#endif
  }
}
