// Mean squared error as one writes it first: one accumulator in single precision. Where rows differ by 2^24 it loses
// more than a sum in random order would; a second look counts that, and nothing that a twin does.
// assay: task kernelbench/1/94
// assay: expect pass
// assay: twin DROP_LAST expect wrong_value|low_precision -- the last element left out
// assay: twin DROP_BLOCK expect wrong_value|low_precision -- the last 64 elements left out, where there are more
// assay: twin FP16 expect low_precision|wrong_value|wrong_class -- the accumulator has 11 bits
// assay: twin BF16 expect low_precision|wrong_value|wrong_class -- the accumulator has 8 bits
// assay: twin TF32 expect low_precision|wrong_value|wrong_class -- differences of 11 bits
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
  int64_t n = assay_count(&args->inputs[0]), end = n;
#if defined(DROP_LAST)
  end = n - 1;
#elif defined(DROP_BLOCK)
  end = n > 64 ? n - 64 : n;
#endif
  float sum = 0;
  for (int64_t i = 0; i < end; i++) {
    float d = p[i] - t[i];
#if defined(FP16)
    sum = rounded(sum + d * d, 11);
#elif defined(BF16)
    sum = rounded(sum + d * d, 8);
#elif defined(TF32)
    d = rounded(d, 11);
    sum += d * d;
#else
    sum += d * d;
#endif
  }
  *(float *)args->outputs[0].data = sum / (float)n;
}
