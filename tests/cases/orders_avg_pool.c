// Means over windows in the orders that kernels have; what the error scale makes of each.
// assay: task kernelbench/1/44
// assay: expect pass -- the sum of each window, times 1 / 8
// assay: twin SCALED_TERMS expect pass -- every term times 1 / 8
// assay: twin RUNNING expect low_precision|wrong_value -- a running sum, in which errors stay
#include <assay/candidate.h>

enum { K = 8, PAD = 4 };

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t rows = args->inputs[0].dims[0] * args->inputs[0].dims[1], n = args->inputs[0].dims[2];
  int64_t out = args->outputs[0].dims[2];
  for (int64_t r = 0; r < rows; r++, x += n, y += out) {
#if defined RUNNING
    float sum = 0;
    for (int64_t i = 0; i < K - PAD && i < n; i++)
      sum += x[i];
    for (int64_t o = 0; o < out; o++) {
      y[o] = sum / K;
      int64_t in = o - PAD + K, gone = o - PAD;
      sum += (in >= 0 && in < n ? x[in] : 0) - (gone >= 0 && gone < n ? x[gone] : 0);
    }
#else
    for (int64_t o = 0; o < out; o++) {
      float sum = 0;
      for (int64_t k = 0; k < K; k++) {
        int64_t i = o - PAD + k;
        float v = i >= 0 && i < n ? x[i] : 0;
#ifdef SCALED_TERMS
        sum += v * (1.0f / K);
#else
        sum += v;
#endif
      }
#ifdef SCALED_TERMS
      y[o] = sum;
#else
      y[o] = sum * (1.0f / K);
#endif
    }
#endif
  }
}
