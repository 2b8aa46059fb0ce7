// LogSoftmax whose sum leaves the largest element out, in one accumulator in single precision: the 1 that it stands for
// comes back in log1p. Where many terms are alike that loses more than a sum in lanes does; a second look counts it.
// assay: task kernelbench/1/24
// assay: expect pass
// assay: twin DROP_LAST expect wrong_value|low_precision -- a row's last element is not in its sum
// assay: twin NO_LARGEST expect wrong_value|low_precision|wrong_class -- the largest element never comes back
// assay: twin BITS_18 expect low_precision|wrong_value -- an accumulator of 18 bits
// assay: twin BF16 expect low_precision|wrong_value -- terms of 8 bits
#include <assay/candidate.h>
#include <math.h>

#if defined(BITS_18) || defined(BF16)
static float rounded(float x, int bits) {
  int e;
  float m = frexpf(x, &e);
  return isfinite(x) ? ldexpf(rintf(ldexpf(m, bits)), e - bits) : x;
}
#endif

static float add(float sum, float term) {
#if defined(BITS_18)
  return rounded(sum + term, 18);
#elif defined(BF16)
  return sum + rounded(term, 8);
#else
  return sum + term;
#endif
}

static void row(const float *x, float *y, int64_t n) {
  int64_t largest = 0, last = n;
  for (int64_t i = 1; i < n; i++)
    if (x[i] > x[largest] || isnan(x[i]))
      largest = i;
#ifdef DROP_LAST
  last = n - (n > 1);
#endif
  float sum = 0;
  for (int64_t i = 0; i < last; i++)
    if (i != largest)
      sum = add(sum, expf(x[i] - x[largest]));
#ifdef NO_LARGEST
  float l = logf(sum);
#else
  float l = log1pf(sum);
#endif
  for (int64_t i = 0; i < n; i++)
    y[i] = x[i] - x[largest] - l;
}

void assay_kernel(const struct assay_args *args) {
  int64_t rows = args->inputs[0].dims[0], n = args->inputs[0].dims[1];
  for (int64_t i = 0; i < rows; i++)
    row((const float *)args->inputs[0].data + i * n, (float *)args->outputs[0].data + i * n, n);
}
