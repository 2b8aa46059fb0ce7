// Kullback-Leibler divergence with one accumulator in single precision for both of the graph's sums: a sum of sums may
// be added up in any order. A second look counts what that loses, and nothing that a twin does.
// assay: task kernelbench/1/98
// assay: expect pass
// assay: twin COLUMNS expect pass -- down the columns
// assay: twin DROP_LAST expect wrong_value|low_precision -- the last element left out
// assay: twin DROP_ROW expect wrong_value|low_precision -- the last row left out, where there are more
// assay: twin FP16 expect low_precision|wrong_value|wrong_class -- the accumulator has 11 bits
// assay: twin BF16 expect low_precision|wrong_value|wrong_class -- the accumulator has 8 bits
// assay: twin TF32 expect low_precision|wrong_value|wrong_class -- inputs of 11 bits
#include <assay/candidate.h>
#include <math.h>

#if defined(FP16) || defined(BF16) || defined(TF32)
static float rounded(float x, int bits) {
  int e;
  float m = frexpf(x, &e);
  return isfinite(x) ? ldexpf(rintf(ldexpf(m, bits)), e - bits) : x;
}
#endif

void assay_kernel(const struct assay_args *args) {
  const float *p = args->inputs[0].data, *t = args->inputs[1].data;
  int64_t n = assay_count(&args->inputs[0]), rows = args->inputs[0].dims[0], cols = args->inputs[0].dims[1], end = n;
#if defined(DROP_LAST)
  end = n - 1;
#elif defined(DROP_ROW)
  end = rows > 1 ? n - cols : n;
#endif
  float sum = 0;
  for (int64_t k = 0; k < end; k++) {
#ifdef COLUMNS
    int64_t i = k % rows * cols + k / rows;
#else
    int64_t i = k;
#endif
    float a = t[i], b = p[i];
#ifdef TF32
    a = rounded(a, 11), b = rounded(b, 11);
#endif
    float term = a > 0 ? a * (logf(a) - logf(b)) : 0;
    sum += term;
#if defined(FP16)
    sum = rounded(sum, 11);
#elif defined(BF16)
    sum = rounded(sum, 8);
#endif
  }
  *(float *)args->outputs[0].data = sum / (float)rows;
}
