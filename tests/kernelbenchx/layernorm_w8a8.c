// Layer norm of int8 rows with a scale each, and the scale of the result.
// assay: task kernelbenchx/Quantization/layernorm_w8a8
// assay: expect pass
// assay: twin NO_SCALE expect wrong_value|low_precision -- the norm of the integers, whose epsilon is another one
// assay: twin SIGNED expect wrong_value -- the scale of the largest number, not of the largest magnitude
// assay: twin BY_128 expect wrong_value -- the scale is of 128 steps
#include <assay/candidate.h>
#include <math.h>

void assay_kernel(const struct assay_args *args) {
  const int8_t *x = args->inputs[0].data;
  const float *scale = args->inputs[1].data, *weight = args->inputs[2].data, *bias = args->inputs[3].data;
  float *y = args->outputs[0].data, *y_scale = args->outputs[1].data;
  int64_t m = args->inputs[0].dims[0], n = args->inputs[0].dims[1];
  for (int64_t i = 0; i < m; i++) {
    int64_t sum = 0, squares = 0;
    for (int64_t j = 0; j < n; j++) {
      sum += x[i * n + j];
      squares += x[i * n + j] * x[i * n + j];
    }
    // Exact in integers: n^2 times the variance.
    float mean = (float)sum / (float)n, variance = (float)((double)(n * squares - sum * sum) / ((double)n * (double)n));
#ifdef NO_SCALE
    float factor = 1 / sqrtf(variance + 1e-5f);
#else
    float factor = scale[i] / sqrtf(variance * scale[i] * scale[i] + 1e-5f);
#endif
    float most = 0;
    for (int64_t j = 0; j < n; j++) {
      float v = ((float)x[i * n + j] - mean) * factor * weight[j] + bias[j];
      y[i * n + j] = v;
#ifdef SIGNED
      most = fmaxf(most, v);
#else
      most = fmaxf(most, fabsf(v));
#endif
    }
#ifdef BY_128
    y_scale[i] = most / 128;
#else
    y_scale[i] = most / 127;
#endif
  }
}
