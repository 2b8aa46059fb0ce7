// The lower triangular factor of a definite matrix, in several orders.
// assay: task kernelbenchx/LinearAlgebra/cholesky
// assay: expect pass
// assay: twin RIGHT expect pass -- each column is taken off what is right of it at once
// assay: twin BLOCKED expect pass -- blocks of 16 columns
// assay: twin LDL expect pass -- a unit factor and a diagonal, whose roots are taken last
// assay: twin DOUBLE expect pass -- in double precision
// assay: twin UPPER expect wrong_value|low_precision -- the other triangle
// assay: twin KEPT expect wrong_value|low_precision -- what the matrix has above the diagonal
// assay: twin BF16 expect wrong_value|low_precision -- products of numbers with 8 bits
// assay: twin LAST expect wrong_value|low_precision -- the last number is still the matrix's
// assay: twin LEAST expect wrong_value|low_precision -- a diagonal a ten thousandth larger
#include <assay/candidate.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef BF16
static float half16(float x) {
  union {
    float f;
    uint32_t u;
  } v = {x};
  v.u = (v.u + 0x8000u) & 0xffff0000u;
  return v.f;
}
#endif

void assay_kernel(const struct assay_args *args) {
  const float *given = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = args->inputs[0].dims[0];
#ifdef DOUBLE
  typedef double T;
#else
  typedef float T;
#endif
  T *a = malloc((size_t)(n * n + 1) * sizeof *a);
  for (int64_t i = 0; i < n * n; i++)
    a[i] = given[i];
#ifdef RIGHT
  for (int64_t k = 0; k < n; k++) {
    a[k * n + k] = sqrtf(a[k * n + k]);
    float inv = 1 / a[k * n + k];
    for (int64_t i = k + 1; i < n; i++)
      a[i * n + k] *= inv;
    for (int64_t i = k + 1; i < n; i++)
      for (int64_t j = k + 1; j <= i; j++)
        a[i * n + j] -= a[i * n + k] * a[j * n + k];
  }
#elif defined BLOCKED
  for (int64_t b = 0; b < n; b += 16) {
    int64_t e = b + 16 < n ? b + 16 : n;
    for (int64_t i = b; i < n; i++)
      for (int64_t j = b; j < e && j <= i; j++) {
        float s = 0;
        for (int64_t k = 0; k < b; k++)
          s += a[i * n + k] * a[j * n + k];
        a[i * n + j] -= s;
      }
    for (int64_t j = b; j < e; j++)
      for (int64_t i = j; i < n; i++) {
        float s = a[i * n + j];
        for (int64_t k = b; k < j; k++)
          s -= a[i * n + k] * a[j * n + k];
        a[i * n + j] = i == j ? sqrtf(s) : s / a[j * n + j];
      }
  }
#elif defined LDL
  float *d = malloc((size_t)n * sizeof *d);
  for (int64_t j = 0; j < n; j++) {
    float s = a[j * n + j];
    for (int64_t k = 0; k < j; k++)
      s -= a[j * n + k] * a[j * n + k] * d[k];
    d[j] = s;
    for (int64_t i = j + 1; i < n; i++) {
      float t = a[i * n + j];
      for (int64_t k = 0; k < j; k++)
        t -= a[i * n + k] * d[k] * a[j * n + k];
      a[i * n + j] = t / s;
    }
  }
  for (int64_t j = 0; j < n; j++) {
    a[j * n + j] = sqrtf(d[j]);
    for (int64_t i = j + 1; i < n; i++)
      a[i * n + j] *= sqrtf(d[j]);
  }
  free(d);
#else
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = j; i < n; i++) {
      T s = a[i * n + j];
      for (int64_t k = j - 1; k >= 0; k--) {
#ifdef BF16
        s -= half16(a[i * n + k]) * half16(a[j * n + k]);
#else
        s -= a[i * n + k] * a[j * n + k];
#endif
      }
#ifdef LEAST
      s += i == j ? s * 1e-4f : 0;
#endif
      a[i * n + j] = i == j ? (T)sqrt(s) : s / a[j * n + j];
    }
#endif
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
#ifdef UPPER
      y[j * n + i] = j <= i ? (float)a[i * n + j] : 0;
#elif defined KEPT
      y[i * n + j] = (float)a[i * n + j];
#elif defined LAST
      y[i * n + j] = i == n - 1 && j == i ? given[n * n - 1] : j <= i ? (float)a[i * n + j] : 0;
#else
      y[i * n + j] = j <= i ? (float)a[i * n + j] : 0;
#endif
    }
  free(a);
}
