// A product whose rows are summed, with one accumulator in single precision for both: a sum of products may be added up
// in any order. A second look counts what that errs, and nothing that a twin does.
// assay: task kernelbench/2/14
// assay: expect pass
// assay: twin ROWS_LAST expect pass -- the columns of the product innermost
// assay: twin DROP_LAST expect wrong_value|low_precision -- the last product of each sum left out
// assay: twin FP16 expect low_precision|wrong_value|wrong_class -- the accumulator has 11 bits
// assay: twin BF16 expect low_precision|wrong_value|wrong_class -- the accumulator has 8 bits
// assay: twin BITS_20 expect low_precision|wrong_value -- the accumulator has 20 bits
// assay: twin TF32 expect low_precision|wrong_value|wrong_class -- factors of 11 bits
#include <assay/candidate.h>
#include <math.h>

#if defined(FP16)
#define SUM_BITS 11
#elif defined(BF16)
#define SUM_BITS 8
#elif defined(BITS_20)
#define SUM_BITS 20
#endif
#if defined(SUM_BITS) || defined(TF32)
static float rounded(float x, int bits) {
  int e;
  float m = frexpf(x, &e);
  return isfinite(x) ? ldexpf(rintf(ldexpf(m, bits)), e - bits) : x;
}
#endif

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t rows = args->inputs[0].dims[0], k = args->inputs[0].dims[1], n = args->inputs[1].dims[0], last = k * n;
#ifdef DROP_LAST
  last -= last > 1;
#endif
  for (int64_t i = 0; i < rows; i++) {
    float sum = 0;
    for (int64_t t = 0; t < last; t++) {
#ifdef ROWS_LAST
      int64_t l = t / n, j = t % n;
#else
      int64_t l = t % k, j = t / k;
#endif
      float a = x[i * k + l], b = w[j * k + l];
#ifdef TF32
      a = rounded(a, 11), b = rounded(b, 11);
#endif
      sum += a * b;
#ifdef SUM_BITS
      sum = rounded(sum, SUM_BITS);
#endif
    }
    y[i] = sum / 2 * 1.5f;
  }
}
