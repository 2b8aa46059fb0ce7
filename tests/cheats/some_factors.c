// Fewer bits in a part of a product only: in one factor, in the later terms of long sums, in one term of 64; and terms
// left out that are far below a row's largest. (Strassen's products are such, too, where rows differ in size.)
// assay: task kernelbench/1/2
// assay: expect low_precision|wrong_value -- one factor has 16 bits
// assay: twin BITS=19 expect low_precision|wrong_value -- or 19
// assay: twin LATER expect low_precision|wrong_value -- of the second half of the terms, where there are more than 64
// assay: twin ONE_IN_64 expect low_precision|wrong_value -- of one term in 64
// assay: twin LEFT_OUT expect low_precision|wrong_value|wrong_class -- terms below 10^-5 of the row's largest are left out
// assay: twin HONEST expect pass
#include <assay/candidate.h>
#include <math.h>

#ifndef BITS
#define BITS 16
#endif

static float factor(float v, int64_t term, int64_t terms) {
  int cut = 1, exponent;
#if defined(HONEST) || defined(LEFT_OUT)
  cut = 0;
#elif defined(LATER)
  cut = terms > 64 && term >= terms / 2;
#elif defined(ONE_IN_64)
  cut = term % 64 == 63;
#endif
  (void)term;
  (void)terms;
  if (!cut || !isfinite(v))
    return v;
  frexpf(v, &exponent);
  return (float)ldexp(rint(ldexp(v, BITS - exponent)), exponent - BITS);
}

void assay_kernel(const struct assay_args *args) {
  const struct assay_tensor *a = &args->inputs[0], *b = &args->inputs[1];
  const int64_t m = a->dims[0], k = a->dims[1], n = b->dims[1];
  const float *x = a->data, *w = b->data;
  float *y = args->outputs[0].data;
  for (int64_t i = 0; i < m; i++) {
    float least = 0;
#ifdef LEFT_OUT
    for (int64_t t = 0; t < k; t++)
      least = fmaxf(least, 1e-5f * fabsf(x[i * k + t]));
#endif
    for (int64_t j = 0; j < n; j++)
      y[i * n + j] = 0;
    for (int64_t t = 0; t < k; t++)
      for (int64_t j = 0; j < n && !(fabsf(x[i * k + t]) < least); j++)
        y[i * n + j] += x[i * k + t] * factor(w[t * n + j], t, k);
  }
}
