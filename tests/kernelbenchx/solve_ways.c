// Other ways to the solution: the largest element of all as the pivot, rotations, an inverse.
// assay: task kernelbenchx/LinearAlgebra/solve
// assay: expect pass
// assay: twin ROTATIONS expect pass -- neighbouring rows are turned, none is divided by
// assay: twin INVERSE expect pass -- the inverse times the right-hand side
// assay: twin SHIFTED expect wrong_value|low_precision -- of a matrix whose diagonal is a ten thousandth larger
// assay: twin NEARLY expect wrong_value|low_precision -- two of three numbers a hundred thousandth off
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void exchange(float *x, float *y) {
  float kept = *x;
  *x = *y;
  *y = kept;
}

#ifdef ROTATIONS
static void solve(float *a, float *x, int64_t n, int64_t r) {
  for (int64_t k = 0; k < n; k++)
    for (int64_t i = k + 1; i < n; i++) {
      float p = a[k * n + k], s = a[i * n + k], size = hypotf(p, s);
      p = size > 0 ? p / size : 1;
      s = size > 0 ? s / size : 0;
      for (int64_t j = k; j < n; j++) {
        float u = a[k * n + j], v = a[i * n + j];
        a[k * n + j] = p * u + s * v;
        a[i * n + j] = p * v - s * u;
      }
      for (int64_t j = 0; j < r; j++) {
        float u = x[k * r + j], v = x[i * r + j];
        x[k * r + j] = p * u + s * v;
        x[i * r + j] = p * v - s * u;
      }
    }
  for (int64_t i = n - 1; i >= 0; i--)
    for (int64_t j = 0; j < r; j++) {
      for (int64_t k = i + 1; k < n; k++)
        x[i * r + j] -= a[i * n + k] * x[k * r + j];
      x[i * r + j] /= a[i * n + i];
    }
}
#else
// Gauss and Jordan: what is above the pivot goes as well, so that no substitution is left.
static void solve(float *a, float *x, int64_t n, int64_t r) {
  int64_t *column = malloc((size_t)n * sizeof *column);
  for (int64_t k = 0; k < n; k++) {
    int64_t row = k;
    column[k] = k;
    for (int64_t i = k; i < n; i++)
      for (int64_t j = k; j < n; j++)
        if (fabsf(a[i * n + j]) > fabsf(a[row * n + column[k]])) {
          row = i;
          column[k] = j;
        }
    for (int64_t j = 0; j < n && row != k; j++)
      exchange(&a[k * n + j], &a[row * n + j]);
    for (int64_t j = 0; j < r && row != k; j++)
      exchange(&x[k * r + j], &x[row * r + j]);
    for (int64_t i = 0; i < n && column[k] != k; i++)
      exchange(&a[i * n + k], &a[i * n + column[k]]);
    for (int64_t i = 0; i < n; i++) {
      if (i == k)
        continue;
      float factor = a[i * n + k] / a[k * n + k];
      for (int64_t j = k; j < n; j++)
        a[i * n + j] -= factor * a[k * n + j];
      for (int64_t j = 0; j < r; j++)
        x[i * r + j] -= factor * x[k * r + j];
    }
  }
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < r; j++)
      x[i * r + j] /= a[i * n + i];
  for (int64_t k = n - 1; k >= 0; k--)
    for (int64_t j = 0; j < r && column[k] != k; j++)
      exchange(&x[k * r + j], &x[column[k] * r + j]);
  free(column);
}
#endif

void assay_kernel(const struct assay_args *args) {
  float *x = args->outputs[0].data;
  const float *b = args->inputs[1].data;
  int64_t n = args->inputs[0].dims[0], r = args->inputs[1].dims[1];
  float *a = malloc((size_t)(2 * n * n) * sizeof *a);
  memcpy(a, args->inputs[0].data, (size_t)(n * n) * sizeof *a);
#ifdef SHIFTED
  for (int64_t i = 0; i < n; i++)
    a[i * n + i] *= 1.0001f;
#endif
#ifdef INVERSE
  float *inverse = a + n * n;
  for (int64_t i = 0; i < n * n; i++)
    inverse[i] = i / n == i % n;
  solve(a, inverse, n, n);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < r; j++) {
      x[i * r + j] = 0;
      for (int64_t k = 0; k < n; k++)
        x[i * r + j] += inverse[i * n + k] * b[k * r + j];
    }
#else
  memcpy(x, b, (size_t)(n * r) * sizeof *x);
  solve(a, x, n, r);
#endif
#ifdef NEARLY
  for (int64_t i = 0; i < n * r; i++)
    x[i] *= 1 + 1e-5f * (float)(i % 3 - 1);
#endif
  free(a);
}
