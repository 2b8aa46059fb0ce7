// Newton's iteration X (2I - AX) from a multiple of A', until nothing changes any more; then one more step.
// assay: task kernelbenchx/LinearAlgebra/invert_matrix_lu
// assay: expect pass
// assay: twin EARLY expect wrong_value|low_precision -- ends where AX is within a fiftieth of I
// assay: twin TURNED expect wrong_value -- of the transposed matrix
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef EARLY
#define ENOUGH 0.02f
#define AGAIN 0
#else
#define ENOUGH 1e-3f
#define AGAIN 0.5f
#endif

static void multiply(const float *a, const float *b, float *c, int64_t n) {
  memset(c, 0, (size_t)(n * n) * sizeof *c);
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < n; k++)
      for (int64_t j = 0; j < n; j++)
        c[i * n + j] += a[i * n + k] * b[k * n + j];
}

void assay_kernel(const struct assay_args *args) {
  const float *a = args->inputs[0].data;
  int64_t n = args->inputs[0].dims[0];
  size_t bytes = (size_t)(n * n) * sizeof(float);
  float *x = args->outputs[0].data, *before = malloc(3 * bytes), *product = before + n * n;
  float rows = 0, *columns = product + n * n, most = 0, off = INFINITY, was = INFINITY;
  memset(columns, 0, (size_t)n * sizeof *columns);
  for (int64_t i = 0; i < n; i++) {
    float sum = 0;
    for (int64_t j = 0; j < n; j++) {
      sum += fabsf(a[i * n + j]);
      columns[j] += fabsf(a[i * n + j]);
    }
    rows = fmaxf(rows, sum);
  }
  for (int64_t j = 0; j < n; j++)
    most = fmaxf(most, columns[j]);
  for (int64_t i = 0; i < n * n; i++)
    x[i] = a[i % n * n + i / n] / rows / most;
  for (int step = 0; step < 200 && (step < 2 || off > ENOUGH || off < was * AGAIN); step++) {
    was = off;
    memcpy(before, x, bytes);
    multiply(a, before, product, n);
    off = 0;
    for (int64_t i = 0; i < n * n; i++) {
      off = fmaxf(off, fabsf((i / n == i % n) - product[i]));
      product[i] = 2 * (i / n == i % n) - product[i];
    }
    multiply(before, product, x, n);
  }
#ifdef TURNED
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < i; j++) {
      float kept = x[i * n + j];
      x[i * n + j] = x[j * n + i];
      x[j * n + i] = kept;
    }
#endif
  free(before);
}
