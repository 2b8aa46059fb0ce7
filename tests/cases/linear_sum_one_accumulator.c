// A linear layer whose rows are summed in the accumulator that the products are added in; the reductions of single
// elements after it leave that as it is.
// assay: task kernelbench/2/18
// assay: expect pass
// assay: twin BIAS_FIRST expect pass -- all of the bias before the products
// assay: twin NO_BIAS expect wrong_value
// assay: twin NO_LAST_COLUMN expect wrong_value|low_precision -- the last output feature left out, where there are more
// assay: twin BITS_16 expect low_precision|wrong_value -- the accumulator has 16 bits
// assay: twin BF16 expect low_precision|wrong_value|wrong_class -- factors of 8 bits
#include <assay/candidate.h>
#include <math.h>

#if defined(BITS_16) || defined(BF16)
static float rounded(float x, int bits) {
  int e;
  float m = frexpf(x, &e);
  return isfinite(x) ? ldexpf(rintf(ldexpf(m, bits)), e - bits) : x;
}
#endif

static float add_row(float sum, const float *x, const float *w, int64_t k) {
  for (int64_t l = 0; l < k; l++) {
#ifdef BF16
    sum += rounded(x[l], 8) * rounded(w[l], 8);
#else
    sum += x[l] * w[l];
#endif
#ifdef BITS_16
    sum = rounded(sum, 16);
#endif
  }
  return sum;
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data, *w = args->inputs[1].data, *bias = args->inputs[2].data;
  float *y = args->outputs[0].data;
  int64_t rows = args->inputs[0].dims[0], k = args->inputs[0].dims[1], n = args->inputs[1].dims[0], last = n;
#ifdef NO_LAST_COLUMN
  last -= n > 1;
#endif
  for (int64_t i = 0; i < rows; i++) {
    float sum = 0;
#ifdef BIAS_FIRST
    for (int64_t j = 0; j < n; j++)
      sum += bias[j];
#endif
    for (int64_t j = 0; j < last; j++) {
      sum = add_row(sum, x + i * k, w + j * k, k);
#if !defined(BIAS_FIRST) && !defined(NO_BIAS)
      sum += bias[j];
#endif
    }
    y[i] = sum;
  }
}
