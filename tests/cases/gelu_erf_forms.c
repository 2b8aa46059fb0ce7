// GELU by error functions of libraries: erff off by one unit in the last place where it saturates, as a GPU's may be,
// and the rational function that XLA and Eigen use. Where 1 + erf vanishes nothing else is left of the answer.
// assay: task kernelbench/1/26
// assay: twin XLA expect pass -- the rational function
// assay: twin COARSE expect wrong_value|low_precision -- an error function of 11 bits
#include <assay/candidate.h>
#include <math.h>

#ifdef XLA
static float error_function(float x) {
  static const float over[] = {-2.72614225801306e-10f, 2.77068142495902e-08f,  -2.10102402082508e-06f,
                               -5.69250639462346e-05f, -7.34990630326855e-04f, -2.95459980854025e-03f,
                               -1.60960333262415e-02f};
  static const float under[] = {-1.45660718464996e-05f, -2.13374055278905e-04f, -1.68282697438203e-03f,
                                -7.37332916720468e-03f, -1.42647390514189e-02f};
  const float end = 3.832506856900711f; // erf is 1 beyond it
  if (isnan(x))
    return x;
  x = fminf(fmaxf(x, -end), end);
  float a = over[0], b = under[0];
  for (int i = 1; i < 7; i++)
    a = fmaf(a, x * x, over[i]);
  for (int i = 1; i < 5; i++)
    b = fmaf(b, x * x, under[i]);
  return x * a / b;
}
#else
static float error_function(float x) {
  float e = erff(x);
#ifdef COARSE
  e = rintf(e * 2048) / 2048;
#endif
  return fabsf(e) == 1 && isfinite(x) ? copysignf(0.99999994f, e) : e;
}
#endif

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  for (int64_t i = 0, n = assay_count(&args->inputs[0]); i < n; i++)
    y[i] = 0.5f * x[i] * (1 + error_function(x[i] * 0.70710678f));
}
