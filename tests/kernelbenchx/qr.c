// Householder's reflections, row by row; Q from the last reflection to the first.
// assay: task kernelbenchx/LinearAlgebra/qr
// assay: expect pass
// assay: twin NEGATED expect pass -- the other sign of every second column: as right
// assay: twin ZEROS expect wrong_value|wrong_class -- nothing at all
// assay: twin IDENTITY expect wrong_value -- Q = I and R = A: not a triangle
// assay: twin LEFT expect wrong_value -- what was reduced stays below the diagonal
// assay: twin TURNED expect wrong_value -- Q' for Q
// assay: twin ONE_COLUMN expect wrong_value|low_precision -- the last column of Q a thousandth off
// assay: twin NARROW expect wrong_value|low_precision -- products of numbers with 11 bits
// assay: twin UNREAD expect wrong_value|wrong_class -- the factors of another matrix
#include <assay/candidate.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static float narrow(float x) {
#ifdef NARROW
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x0fff + (bits >> 13 & 1)) & 0xffffe000u;
  memcpy(&x, &bits, sizeof x);
#endif
  return x;
}

// v of the reflection I - t v v' that takes x (from row k on) to its first element, v[k] = 1; t, and that element.
static float reflection(const float *a, int64_t m, int64_t n, int64_t k, float *v, float *first) {
  float most = 0, squares = 0;
  for (int64_t i = k; i < m; i++)
    most = fmaxf(most, fabsf(a[i * n + k]));
  v[k] = 1;
  for (int64_t i = k + 1; i < m; i++) {
    v[i] = most > 0 ? a[i * n + k] / most : 0;
    squares += v[i] * v[i];
  }
  float x = most > 0 ? a[k * n + k] / most : 0, length = copysignf(sqrtf(x * x + squares), x);
  *first = -length * most;
  if (squares == 0) {
    *first = a[k * n + k];
    return 0;
  }
  for (int64_t i = k + 1; i < m; i++)
    v[i] /= x + length;
  return (x + length) / length;
}

// a - t v (v' a), of columns from `column` on.
static void reflect(float *a, int64_t m, int64_t n, int64_t k, const float *v, float t, int64_t column) {
  for (int64_t j = column; j < n; j++) {
    float sum = 0;
    for (int64_t i = k; i < m; i++)
      sum += narrow(v[i]) * narrow(a[i * n + j]);
    for (int64_t i = k; i < m; i++)
      a[i * n + j] -= narrow(t * sum) * narrow(v[i]);
  }
}

void assay_kernel(const struct assay_args *args) {
  const float *a = args->inputs[0].data;
  float *q = args->outputs[0].data, *r = args->outputs[1].data;
  int64_t m = args->inputs[0].dims[0], n = args->inputs[0].dims[1];
  float *w = malloc((size_t)(m * n) * sizeof *w), *v = calloc((size_t)(m * n), sizeof *v);
  float *t = malloc((size_t)n * sizeof *t);
  memcpy(w, a, (size_t)(m * n) * sizeof *w);
#ifdef UNREAD
  for (int64_t i = 0; i < m * n; i++)
    w[i] = (float)(i % 7) - 3 + (i % n == i / n);
#endif
  for (int64_t k = 0; k < n; k++) {
    float first;
    t[k] = reflection(w, m, n, k, v + k * m, &first);
    reflect(w, m, n, k, v + k * m, t[k], k + 1);
    w[k * n + k] = first;
#ifndef LEFT
    for (int64_t i = k + 1; i < m; i++)
      w[i * n + k] = 0;
#endif
  }
  memcpy(r, w, (size_t)(n * n) * sizeof *r);
  memset(q, 0, (size_t)(m * n) * sizeof *q);
  for (int64_t i = 0; i < n; i++)
    q[i * n + i] = 1;
  for (int64_t k = n - 1; k >= 0; k--)
    reflect(q, m, n, k, v + k * m, t[k], k);
#ifdef NEGATED
  for (int64_t k = 0; k < n; k += 2) {
    for (int64_t i = 0; i < m; i++)
      q[i * n + k] = -q[i * n + k];
    for (int64_t j = k; j < n; j++)
      r[k * n + j] = -r[k * n + j];
  }
#endif
#ifdef ONE_COLUMN
  for (int64_t i = 0; i < m; i++)
    q[i * n + n - 1] *= 1.001f;
#endif
#ifdef TURNED
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < i; j++) {
      float kept = q[i * n + j];
      q[i * n + j] = q[j * n + i];
      q[j * n + i] = kept;
    }
#endif
#ifdef ZEROS
  memset(q, 0, (size_t)(m * n) * sizeof *q);
  memset(r, 0, (size_t)(n * n) * sizeof *r);
#endif
#ifdef IDENTITY
  memset(q, 0, (size_t)(m * n) * sizeof *q);
  for (int64_t i = 0; i < n; i++)
    q[i * n + i] = 1;
  memcpy(r, a, (size_t)(n * n) * sizeof *r);
#endif
  free(w);
  free(v);
  free(t);
}
