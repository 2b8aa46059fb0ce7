// Elimination with partial pivoting, and what is wrong with it under each macro.
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef BF16_PRODUCTS
static float factor(float x) {
  unsigned bits;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
  memcpy(&x, &bits, sizeof bits);
  return x;
}
#else
#define factor(x) (x)
#endif

static void swap(float *x, float *y, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    float v = x[i];
    x[i] = y[i];
    y[i] = v;
  }
}

static int64_t pivot(const float *a, int64_t n, int64_t k) {
  int64_t best = k;
#ifndef NO_PIVOTS
  for (int64_t i = k + 1; i < n; i++)
    if (fabsf(a[i * n + k]) > fabsf(a[best * n + k]))
      best = i;
#else
  (void)a, (void)n;
#endif
  return best;
}

static float solve(float *a, float *x, int64_t n, int64_t columns) {
  float det = 1;
  for (int64_t k = 0; k < n; k++) {
    int64_t best = pivot(a, n, k);
    if (best != k) {
      swap(a + k * n, a + best * n, n);
      swap(x + k * columns, x + best * columns, columns);
#ifndef NO_SIGN
      det = -det;
#endif
    }
    det *= a[k * n + k];
    for (int64_t i = k + 1; i < n; i++) {
      float l = a[i * n + k] / a[k * n + k];
#ifdef NO_LAST
      for (int64_t j = k + 1; j < n - (n > 2 && k == 0); j++)
#else
      for (int64_t j = k + 1; j < n; j++)
#endif
        a[i * n + j] -= factor(l) * factor(a[k * n + j]);
      for (int64_t j = 0; j < columns; j++)
        x[i * columns + j] -= factor(l) * factor(x[k * columns + j]);
    }
  }
  for (int64_t i = n - 1; i >= 0; i--)
    for (int64_t j = 0; j < columns; j++) {
      for (int64_t k = i + 1; k < n; k++)
        x[i * columns + j] -= factor(a[i * n + k]) * factor(x[k * columns + j]);
      x[i * columns + j] /= a[i * n + i];
    }
  return det;
}

void assay_kernel(const struct assay_args *args) {
  const struct assay_tensor *a = args->inputs, *b = a + 1;
  int64_t batch = a->dims[0], n = a->dims[1], columns = b->dims[2];
  float *x = args->outputs[0].data, *d = args->outputs[1].data, *copy = malloc((size_t)(n * n) * sizeof *copy);
  memcpy(x, b->data, (size_t)(batch * n * columns) * sizeof *x);
  for (int64_t i = 0; i < batch; i++) {
    memcpy(copy, (const float *)a->data + i * n * n, (size_t)(n * n) * sizeof *copy);
    d[i] = solve(copy, x + i * n * columns, n, columns);
  }
  free(copy);
}
