// Matrix product, three loops: the definition.
// assay: task kernelbench/1/2
// assay: expect pass
// assay: twin DROP_LAST_K expect wrong_value -- the dot product forgets its last term
// assay: twin TF32_INPUTS expect low_precision -- rounds a and b to 10 bits, as tensor cores do by default
// assay: twin BF16_INPUTS expect low_precision -- rounds a and b to bfloat16
// assay: twin FP16_SUM expect low_precision -- keeps the running sum in half precision
// assay: twin TRANSPOSED expect wrong_value -- writes the transpose of the result
// assay: twin ADDS_TO_OUTPUT expect unwritten -- takes for granted that the output starts as zeros
#include <assay/candidate.h>
#include <math.h>
#include <string.h>

#if defined(TF32_INPUTS)
#define DROP 13 // of 23 fraction bits
#elif defined(BF16_INPUTS)
#define DROP 16
#endif

#ifdef DROP
static float prepare(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  u += (1u << (DROP - 1)) - 1 + (u >> DROP & 1); // to nearest, ties to even
  u = u >> DROP << DROP;
  memcpy(&x, &u, sizeof x);
  return x;
}
#else
static float prepare(float x) {
  return x;
}
#endif

#ifdef FP16_SUM
// x rounded to 11 significant bits, or to half precision's subnormal grid of 2^-24; beyond 65504 it is infinite.
static float partial(float x) {
  int e;
  frexpf(x, &e);
  e = e < -13 ? -13 : e;
  return e > 16 ? copysignf(INFINITY, x) : ldexpf(rintf(ldexpf(x, 11 - e)), e - 11);
}
#else
static float partial(float x) {
  return x;
}
#endif

void assay_kernel(const struct assay_args *args) {
  const float *a = args->inputs[0].data, *b = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t m = args->inputs[0].dims[0], k = args->inputs[0].dims[1], n = args->inputs[1].dims[1];
#ifdef DROP_LAST_K
  int64_t terms = k - 1;
#else
  int64_t terms = k;
#endif
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      float sum = 0;
      for (int64_t p = 0; p < terms; p++)
        sum = partial(sum + prepare(a[i * k + p]) * prepare(b[p * n + j]));
#if defined(TRANSPOSED)
      y[j * m + i] = sum;
#elif defined(ADDS_TO_OUTPUT)
      y[i * n + j] += sum;
#else
      y[i * n + j] = sum;
#endif
    }
}
