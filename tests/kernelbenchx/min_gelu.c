// Minimum of GELU over each row.
// assay: task kernelbenchx/Reduce/min_gelu
// assay: expect pass
// assay: twin AS_PUBLISHED expect wrong_value -- x erf(x / sqrt 2) / 2, GELU less x/2
// assay: twin CONSTANT expect wrong_value -- the minimum of the function, whatever the row has
// assay: twin OF_MINIMUM expect wrong_value -- GELU of the smallest number: it is not monotonous
#include <assay/candidate.h>
#include <math.h>

static float gelu(float x) {
#if defined(AS_PUBLISHED)
  return 0.5f * x * erff(x * 0.70710678f);
#else
  return 0.5f * x * erfcf(-x * 0.70710678f);
#endif
}

static float least(const float *x, int64_t n) {
#if defined(CONSTANT)
  return n > 0 ? -0.16997120747f + 0 * x[0] : 0;
#elif defined(OF_MINIMUM)
  float best = x[0];
  for (int64_t j = 1; j < n; j++)
    best = x[j] < best ? x[j] : best;
  return gelu(best);
#else
  float best = gelu(x[0]);
  for (int64_t j = 1; j < n; j++) {
    float g = gelu(x[j]);
    best = g < best ? g : best;
  }
  return best;
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t rows = args->inputs[0].dims[0], cols = args->inputs[0].dims[1];
  for (int64_t i = 0; i < rows; i++)
    y[i] = least(x + i * cols, cols);
}
