// tanh(sigmoid(X W)) times a row, plus a row.
// assay: task kernelbenchx/Activation/combined_activation
// assay: expect pass
// assay: twin NO_BIAS expect wrong_value
// assay: twin NO_TANH expect wrong_value -- the sigmoid alone
// assay: twin DROP_LAST expect wrong_value -- sums without the last term
// assay: twin BF16_INPUTS expect wrong_value|low_precision -- products of numbers cut to bf16
#include <assay/candidate.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static float taken(float x) {
#ifdef BF16_INPUTS
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x8000) & 0xffff0000u;
  memcpy(&x, &bits, sizeof bits);
#endif
  return x;
}

static float activated(float z) {
  float s = 1 / (1 + expf(-z));
#ifdef NO_TANH
  return s;
#else
  return tanhf(s);
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  const float *factor = args->inputs[2].data, *bias = args->inputs[3].data;
  float *y = args->outputs[0].data;
  int64_t m = args->inputs[0].dims[0], k = args->inputs[0].dims[1], n = args->inputs[1].dims[1];
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      float sum = 0;
#ifdef DROP_LAST
      for (int64_t l = 0; l < (k > 1 ? k - 1 : k); l++)
#else
      for (int64_t l = 0; l < k; l++)
#endif
        sum += taken(x[i * k + l]) * taken(w[l * n + j]);
      y[i * n + j] = activated(sum) * factor[j];
#ifndef NO_BIAS
      y[i * n + j] += bias[j];
#endif
    }
}
