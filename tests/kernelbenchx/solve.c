// Systems of equations by elimination with partial pivoting.
// assay: task kernelbenchx/LinearAlgebra/solve
// assay: expect pass
// assay: twin NO_PIVOT expect wrong_value|wrong_class|low_precision -- divides by what stands on the diagonal
// assay: twin NARROW expect wrong_value|low_precision -- products of numbers with 11 bits
// assay: twin TURNED expect wrong_value -- the system of the transposed matrix
// assay: twin FIRST expect wrong_value -- the first column of the right-hand side only
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static float narrowed(float x) {
#ifdef NARROW
  int e;
  frexpf(x, &e);
  return ldexpf(rintf(ldexpf(x, 11 - e)), e - 11);
#else
  return x;
#endif
}

static void swap_rows(float *a, int64_t columns, int64_t i, int64_t j) {
  for (int64_t c = 0; c < columns && i != j; c++) {
    float t = a[i * columns + c];
    a[i * columns + c] = a[j * columns + c];
    a[j * columns + c] = t;
  }
}

static int64_t pivot_of(const float *a, int64_t n, int64_t k) {
  int64_t best = k;
#ifndef NO_PIVOT
  for (int64_t i = k; i < n; i++)
    if (fabsf(a[i * n + k]) > fabsf(a[best * n + k]))
      best = i;
#endif
  return best;
}

void assay_kernel(const struct assay_args *args) {
  const float *from = args->inputs[0].data;
  float *x = args->outputs[0].data;
  int64_t n = args->inputs[0].dims[0], r = args->inputs[1].dims[1];
  float *a = malloc((size_t)(n * n) * sizeof *a);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
#ifdef TURNED
      a[j * n + i] = from[i * n + j];
#else
      a[i * n + j] = from[i * n + j];
#endif
  memcpy(x, args->inputs[1].data, (size_t)(n * r) * sizeof *x);
#ifdef FIRST
  r = 1;
#endif
  for (int64_t k = 0; k < n; k++) {
    int64_t other = pivot_of(a, n, k);
    swap_rows(a, n, k, other);
    swap_rows(x, args->inputs[1].dims[1], k, other);
    for (int64_t i = k + 1; i < n; i++) {
      float factor = a[i * n + k] / a[k * n + k];
      for (int64_t j = k + 1; j < n; j++)
        a[i * n + j] -= narrowed(factor) * narrowed(a[k * n + j]);
      for (int64_t j = 0; j < r; j++)
        x[i * r + j] -= factor * x[k * r + j];
    }
  }
  for (int64_t i = n - 1; i >= 0; i--)
    for (int64_t j = 0; j < r; j++) {
      float sum = x[i * r + j];
      for (int64_t k = i + 1; k < n; k++)
        sum -= a[i * n + k] * x[k * r + j];
      x[i * r + j] = sum / a[i * n + i];
    }
  free(a);
}
