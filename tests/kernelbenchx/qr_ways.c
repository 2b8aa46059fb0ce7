// Other ways to the factors: rotations of neighbouring rows, and columns made orthogonal one after the other.
// assay: task kernelbenchx/LinearAlgebra/qr
// assay: expect pass
// assay: twin TWICE expect pass -- each column made orthogonal to those before it, twice
// assay: twin MODIFIED expect wrong_value|low_precision -- once, each time by what is left: loses as much as columns are alike
// assay: twin POSITIVE expect pass -- rotations, and a diagonal of R above zero
// assay: twin CLASSICAL expect wrong_value|low_precision -- once, by what was there: loses the square of it
// assay: twin GRAM expect wrong_value|low_precision|wrong_class -- R of A'A, and Q = A inv(R)
// assay: twin ONE_LESS expect wrong_value|low_precision -- the last rotation of each column is left out
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined TWICE || defined MODIFIED || defined CLASSICAL
static float part(const float *q, const float *x, int64_t m, int64_t n, int64_t k) {
  float sum = 0;
  for (int64_t i = 0; i < m; i++)
    sum += q[i * n + k] * x[i];
  return sum;
}

static void factors(float *q, float *r, int64_t m, int64_t n) {
  float *x = malloc((size_t)m * sizeof *x), *before = malloc((size_t)m * sizeof *x);
#ifdef TWICE
  const int passes = 2;
#else
  const int passes = 1;
#endif
  for (int64_t j = 0; j < n; j++) {
    for (int64_t i = 0; i < m; i++)
      x[i] = before[i] = q[i * n + j];
    for (int pass = 0; pass < passes; pass++)
      for (int64_t k = 0; k < j; k++) {
#ifdef CLASSICAL
        float c = part(q, before, m, n, k);
#else
        float c = part(q, x, m, n, k);
#endif
        r[k * n + j] += c;
        for (int64_t i = 0; i < m; i++)
          x[i] -= c * q[i * n + k];
      }
    float most = 0, squares = 0;
    for (int64_t i = 0; i < m; i++)
      most = fmaxf(most, fabsf(x[i]));
    for (int64_t i = 0; i < m && most > 0; i++)
      squares += x[i] / most * (x[i] / most);
    r[j * n + j] = most * sqrtf(squares);
    for (int64_t i = 0; i < m; i++)
      q[i * n + j] = most > 0 ? x[i] / most / sqrtf(squares) : i == j;
  }
  free(x);
  free(before);
}
#elif defined GRAM
static void factors(float *q, float *r, int64_t m, int64_t n) {
  for (int64_t j = 0; j < n; j++)
    for (int64_t k = j; k < n; k++) {
      float sum = 0;
      for (int64_t i = 0; i < m; i++)
        sum += q[i * n + j] * q[i * n + k];
      for (int64_t i = 0; i < j; i++)
        sum -= r[i * n + j] * r[i * n + k];
      r[j * n + k] = k == j ? sqrtf(fmaxf(sum, 1e-30f)) : sum / r[j * n + j];
    }
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      for (int64_t k = 0; k < j; k++)
        q[i * n + j] -= q[i * n + k] * r[k * n + j];
      q[i * n + j] /= r[j * n + j];
    }
}
#else
static void turn(float *a, int64_t n, int64_t i, int64_t from, float c, float s) {
  for (int64_t j = from; j < n; j++) {
    float x = a[i * n + j], y = a[(i + 1) * n + j];
    a[i * n + j] = c * x + s * y;
    a[(i + 1) * n + j] = c * y - s * x;
  }
}

static void factors(float *q, float *r, int64_t m, int64_t n) {
  float *w = malloc((size_t)(m * n) * sizeof *w), *turns = calloc((size_t)(2 * m * n), sizeof *turns);
  memcpy(w, q, (size_t)(m * n) * sizeof *w);
#ifdef ONE_LESS
  const int64_t last = 1;
#else
  const int64_t last = 0;
#endif
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = m - 2; i >= j + last; i--) {
      float x = w[i * n + j], y = w[(i + 1) * n + j], size = hypotf(x, y);
      float *c = turns + 2 * (j * m + i);
      c[0] = size > 0 ? x / size : 1;
      c[1] = size > 0 ? y / size : 0;
      turn(w, n, i, j, c[0], c[1]);
      w[(i + 1) * n + j] = 0;
    }
  for (int64_t i = 0; i < m * n; i++)
    q[i] = i / n == i % n;
  for (int64_t j = n - 1; j >= 0; j--)
    for (int64_t i = j + last; i + 1 < m; i++)
      turn(q, n, i, 0, turns[2 * (j * m + i)], -turns[2 * (j * m + i) + 1]);
  for (int64_t i = 0; i < n; i++) {
    float sign = 1;
#ifdef POSITIVE
    sign = w[i * n + i] < 0 ? -1 : 1;
#endif
    for (int64_t j = i; j < n; j++)
      r[i * n + j] = sign * w[i * n + j];
    for (int64_t k = 0; k < m; k++)
      q[k * n + i] *= sign;
  }
  free(w);
  free(turns);
}
#endif

void assay_kernel(const struct assay_args *args) {
  float *q = args->outputs[0].data, *r = args->outputs[1].data;
  int64_t m = args->inputs[0].dims[0], n = args->inputs[0].dims[1];
  memcpy(q, args->inputs[0].data, (size_t)(m * n) * sizeof *q);
  memset(r, 0, (size_t)(n * n) * sizeof *r);
  factors(q, r, m, n);
}
