// A linear layer, the logarithm of its row's sum of exponentials, activations, in the orders that kernels have; what
// the error scale makes of each.
// assay: task kernelbench/2/64
// assay: expect pass -- max + log sum of e^(x - max)
// assay: twin ONLINE expect pass -- one sweep, rescaled
// assay: twin EXP2 expect pass -- by 2^x
// assay: twin NO_MAX expect wrong_class|wrong_value -- no maximum taken off
// assay: twin ONE_LEAKY expect wrong_value -- one of the two leaky ReLUs left out
// assay: twin TANH_GELU expect wrong_value|low_precision -- the other GELU
#include <math.h>

#include <assay/candidate.h>

static float leaky(float x) {
  return x > 0 ? x : 0.01f * x;
}
static float gelu(float x) {
#ifdef TANH_GELU
  return 0.5f * x * (1 + tanhf(0.79788456080286535588f * (x + 0.044715f * x * x * x)));
#else
  return 0.5f * x * (1 + erff(x * 0.70710678118654752440f));
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data, *w = args->inputs[1].data, *bias = args->inputs[2].data;
  float *y = args->outputs[0].data;
  int64_t m = args->inputs[0].dims[0], k = args->inputs[0].dims[1], n = args->inputs[1].dims[0];
  for (int64_t i = 0; i < m; i++) {
    float max = -INFINITY, sum = 0, row[1024];
    for (int64_t j = 0; j < n; j++) {
      row[j] = 0;
      for (int64_t l = 0; l < k; l++)
        row[j] += x[i * k + l] * w[j * k + l];
      row[j] += bias[j];
#ifdef ONLINE
      float above = fmaxf(max, row[j]);
      sum = sum * expf(max - above) + expf(row[j] - above);
      max = above;
#else
      max = fmaxf(max, row[j]);
#endif
    }
#ifdef NO_MAX
    max = 0;
#endif
#ifndef ONLINE
    for (int64_t j = 0; j < n; j++)
#ifdef EXP2
      sum += exp2f((row[j] - max) * 1.44269504088896340736f);
#else
      sum += expf(row[j] - max);
#endif
#endif
    float v = max + logf(sum);
#ifdef ONE_LEAKY
    y[i] = gelu(gelu(leaky(v)));
#else
    y[i] = gelu(gelu(leaky(leaky(v))));
#endif
  }
}
