// A fusion of level 2: a linear layer, 2 subtracted, times 1.5, ReLU. Every output is one dot product.
// assay: task kernelbench/2/9
// assay: expect pass
// assay: twin ZEROS expect wrong_value -- what the published inputs allowed: there no sum ever reached 2
// assay: twin NO_BIAS expect wrong_value
#include <assay/candidate.h>

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data, *w = args->inputs[1].data, *bias = args->inputs[2].data;
  float *y = args->outputs[0].data;
  int64_t m = args->inputs[0].dims[0], k = args->inputs[0].dims[1], n = args->inputs[1].dims[0];
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      float sum = bias[j];
#ifdef NO_BIAS
      sum = 0;
#endif
      for (int64_t l = 0; l < k; l++)
        sum += x[i * k + l] * w[j * k + l];
      float v = (sum - 2) * 1.5f;
#ifdef ZEROS
      v = 0;
#endif
      y[i * n + j] = v < 0 ? 0 : v;
    }
}
