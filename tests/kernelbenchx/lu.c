// Factors by elimination with partial pivoting, row by row in place of U.
// assay: task kernelbenchx/LinearAlgebra/lu
// assay: expect pass
// assay: twin TURNED expect wrong_value -- the permutation that undoes it
// assay: twin UNSCALED expect wrong_value -- L before its columns are divided by the pivots
// assay: twin NO_PIVOT expect wrong_value|wrong_class -- no rows change places
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void swap_rows(float *u, int64_t n, int64_t *rows, int64_t i, int64_t j) {
  for (int64_t c = 0; c < n && i != j; c++) {
    float t = u[i * n + c];
    u[i * n + c] = u[j * n + c];
    u[j * n + c] = t;
  }
  int64_t row = rows[i];
  rows[i] = rows[j];
  rows[j] = row;
}

static void eliminate(float *u, int64_t n, int64_t k) {
  for (int64_t i = k + 1; i < n; i++) {
    float factor = u[i * n + k] / u[k * n + k];
#ifndef UNSCALED
    u[i * n + k] = factor;
#endif
    for (int64_t j = k + 1; j < n; j++)
      u[i * n + j] -= factor * u[k * n + j];
  }
}

void assay_kernel(const struct assay_args *args) {
  float *p = args->outputs[0].data, *l = args->outputs[1].data, *u = args->outputs[2].data;
  int64_t n = args->inputs[0].dims[0];
  int64_t *rows = malloc((size_t)n * sizeof *rows);
  memcpy(u, args->inputs[0].data, (size_t)(n * n) * sizeof *u);
  for (int64_t i = 0; i < n; i++)
    rows[i] = i;
  for (int64_t k = 0; k < n; k++) {
    int64_t best = k;
#ifndef NO_PIVOT
    for (int64_t i = k; i < n; i++)
      if (fabsf(u[i * n + k]) > fabsf(u[best * n + k]))
        best = i;
#endif
    swap_rows(u, n, rows, k, best);
    eliminate(u, n, k);
  }
  memset(p, 0, (size_t)(n * n) * sizeof *p);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      l[i * n + j] = i > j ? u[i * n + j] : i == j;
      u[i * n + j] = i > j ? 0 : u[i * n + j];
    }
  for (int64_t i = 0; i < n; i++)
#ifdef TURNED
    p[i * n + rows[i]] = 1;
#else
    p[rows[i] * n + i] = 1;
#endif
  free(rows);
}
