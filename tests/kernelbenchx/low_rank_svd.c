// The nearest matrix of rank 50: rotations make columns orthogonal (Hestenes), the 50 longest stay.
// assay: task kernelbenchx/LinearAlgebra/low_rank_svd_approximation
// assay: expect pass
// assay: twin ONE_LESS expect wrong_value -- of rank 49
// assay: twin ALL expect wrong_value -- the matrix itself
// assay: twin NARROW expect wrong_value|low_precision -- of the matrix with 11 bits
// assay: twin TWO_SWEEPS expect wrong_value|low_precision -- stops rotating early
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef ONE_LESS
enum { RANK = 49 };
#elif defined(ALL)
enum { RANK = 1 << 20 };
#else
enum { RANK = 50 };
#endif
#ifdef TWO_SWEEPS
enum { SWEEPS = 2 };
#else
enum { SWEEPS = 14 };
#endif

// Rows of `a` are the columns that turn; `v` takes part in it.
static void rotate(float *a, float *v, int64_t n, int64_t p, int64_t q) {
  float alpha = 0, beta = 0, gamma = 0;
  for (int64_t k = 0; k < n; k++) {
    alpha += a[p * n + k] * a[p * n + k];
    beta += a[q * n + k] * a[q * n + k];
    gamma += a[p * n + k] * a[q * n + k];
  }
  if (gamma == 0 || fabsf(gamma) <= 1e-8f * sqrtf(alpha * beta))
    return;
  float zeta = (beta - alpha) / (2 * gamma);
  float t = copysignf(1, zeta) / (fabsf(zeta) + sqrtf(1 + zeta * zeta)), c = 1 / sqrtf(1 + t * t), s = c * t;
  for (int64_t k = 0; k < n; k++) {
    float x = a[p * n + k], y = a[q * n + k], vx = v[p * n + k], vy = v[q * n + k];
    a[p * n + k] = c * x - s * y;
    a[q * n + k] = s * x + c * y;
    v[p * n + k] = c * vx - s * vy;
    v[q * n + k] = s * vx + c * vy;
  }
}

static float length(const float *row, int64_t n) {
  float sum = 0;
  for (int64_t k = 0; k < n; k++)
    sum += row[k] * row[k];
  return sum;
}

void assay_kernel(const struct assay_args *args) {
  const float *from = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = args->inputs[0].dims[0];
  float *a = malloc((size_t)(n * n) * sizeof *a), *v = calloc((size_t)(n * n), sizeof *v);
  float *lengths = malloc((size_t)n * sizeof *lengths);
  for (int64_t i = 0; i < n; i++) {
    v[i * n + i] = 1;
    for (int64_t j = 0; j < n; j++) {
      float x = from[i * n + j];
#ifdef NARROW
      int e;
      frexpf(x, &e);
      x = ldexpf(rintf(ldexpf(x, 11 - e)), e - 11);
#endif
      a[j * n + i] = x;
    }
  }
  for (int sweep = 0; sweep < SWEEPS; sweep++)
    for (int64_t p = 0; p < n; p++)
      for (int64_t q = p + 1; q < n; q++)
        rotate(a, v, n, p, q);
  for (int64_t p = 0; p < n; p++)
    lengths[p] = length(&a[p * n], n);
  memset(y, 0, (size_t)(n * n) * sizeof *y);
  for (int64_t p = 0; p < n; p++) {
    int64_t longer = 0;
    for (int64_t q = 0; q < n; q++)
      longer += lengths[q] > lengths[p];
    for (int64_t i = 0; i < n && longer < RANK; i++)
      for (int64_t j = 0; j < n; j++)
        y[i * n + j] += a[p * n + i] * v[p * n + j];
  }
  free(a);
  free(v);
  free(lengths);
}
