// Singular values by Jacobi's rotations of pairs of columns; what U lacks is found from unit vectors.
// assay: task kernelbenchx/LinearAlgebra/svd
// assay: expect pass
// assay: twin NEGATED expect pass -- every second vector of both sides with the other sign: as right
// assay: twin OTHER_REST expect pass -- what U has beyond A's columns turned among itself: as right
// assay: twin EXCHANGED expect wrong_value|low_precision -- the vectors of two neighbouring values change places on both sides
// assay: twin VALUES_OFF expect wrong_value|low_precision -- every value a ten thousandth too large
// assay: twin LEANING expect wrong_value|low_precision -- two vectors of V turned in their plane by a ten thousandth
// assay: twin TURNED expect wrong_value -- V for V'
// assay: twin UNSORTED expect wrong_value -- values that ascend, with their vectors
// assay: twin NEGATIVE expect wrong_value -- the smallest value below zero, with a vector that makes up for it
// assay: twin GARBAGE expect wrong_value -- the right values, and unit vectors that are not theirs
// assay: twin ONE_VECTOR expect wrong_value|low_precision -- the last vector of U half a thousandth off
// assay: twin EARLY expect wrong_value|low_precision -- two sweeps of rotations, which are too few
// assay: twin NARROW expect wrong_value|low_precision -- rotations of numbers with 11 bits
// assay: twin ZEROS expect wrong_value -- nothing at all
#include <assay/candidate.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef EARLY
enum { SWEEPS = 2 };
#else
enum { SWEEPS = 30 };
#endif

static float narrow(float x) {
#ifdef NARROW
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x0fff + (bits >> 13 & 1)) & 0xffffe000u;
  memcpy(&x, &bits, sizeof x);
#endif
  return x;
}

static double dot(const float *a, const float *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++)
    sum += (double)a[i] * b[i];
  return sum;
}

static void rotate(float *a, float *b, int64_t n, float c, float s) {
  for (int64_t i = 0; i < n; i++) {
    float x = narrow(a[i]), y = narrow(b[i]);
    a[i] = c * x - s * y;
    b[i] = s * x + c * y;
  }
}

// Makes the n rows of w (columns of the matrix) orthogonal, and v what was done to them.
static void jacobi(float *w, float *v, int64_t m, int64_t n) {
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    int turned = 0;
    for (int64_t p = 0; p < n; p++)
      for (int64_t q = p + 1; q < n; q++) {
        double a = dot(w + p * m, w + p * m, m), b = dot(w + q * m, w + q * m, m), c = dot(w + p * m, w + q * m, m);
        if (fabs(c) <= 1e-8 * sqrt(a * b) || c == 0)
          continue;
        double z = (b - a) / (2 * c), t = copysign(1, z) / (fabs(z) + sqrt(1 + z * z)), cosine = 1 / sqrt(1 + t * t);
        rotate(w + p * m, w + q * m, m, (float)cosine, (float)(cosine * t));
        rotate(v + p * n, v + q * n, n, (float)cosine, (float)(cosine * t));
        turned = 1;
      }
    if (!turned)
      return;
  }
}

// Makes u (rows) orthogonal to the first `count` of basis and of length 1. 0: it was among them.
static int complete(float *u, const float *basis, int64_t count, int64_t m) {
  for (int pass = 0; pass < 3; pass++)
    for (int64_t k = 0; k < count; k++) {
      double part = dot(u, basis + k * m, m);
      for (int64_t i = 0; i < m; i++)
        u[i] -= (float)(part * basis[k * m + i]);
    }
  double length = sqrt(dot(u, u, m));
  for (int64_t i = 0; i < m && length > 0.01; i++)
    u[i] = (float)(u[i] / length);
  return length > 0.01;
}

static void swap_rows(float *a, int64_t n, int64_t i, int64_t j) {
  for (int64_t k = 0; k < n; k++) {
    float kept = a[i * n + k];
    a[i * n + k] = a[j * n + k];
    a[j * n + k] = kept;
  }
}

static int in_order(float a, float b) {
#ifdef UNSORTED
  return a <= b;
#else
  return a >= b;
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *a = args->inputs[0].data;
  float *u = args->outputs[0].data, *s = args->outputs[1].data, *v = args->outputs[2].data;
  int64_t m = args->inputs[0].dims[0], n = args->inputs[0].dims[1];
  float *w = malloc((size_t)(m * m + m * n) * sizeof *w);
  float scale = 0;
  for (int64_t i = 0; i < m * n; i++)
    scale = fmaxf(scale, fabsf(a[i]));
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++)
      w[j * m + i] = scale > 0 ? a[i * n + j] / scale : 0;
  memset(v, 0, (size_t)(n * n) * sizeof *v);
  for (int64_t j = 0; j < n; j++)
    v[j * n + j] = 1;
  jacobi(w, v, m, n);
  for (int64_t j = 0; j < n; j++)
    s[j] = (float)sqrt(dot(w + j * m, w + j * m, m));
  for (int64_t j = 0; j < n; j++)
    for (int64_t k = j; k > 0 && !in_order(s[k - 1], s[k]); k--) {
      float kept = s[k];
      s[k] = s[k - 1];
      s[k - 1] = kept;
      swap_rows(w, m, k, k - 1);
      swap_rows(v, n, k, k - 1);
    }
  int64_t unit = 0;
  for (int64_t j = 0; j < m; j++) {
    float *at = w + j * m;
    int found = 0;
    if (j < n && s[j] > 1e-6f * fmaxf(s[0], s[n - 1])) {
      for (int64_t i = 0; i < m; i++)
        at[i] /= s[j];
      found = 1;
    }
    while (!found && unit < m) {
      memset(at, 0, (size_t)m * sizeof *at);
      at[unit++] = 1;
      found = complete(at, w, j, m);
    }
  }
  for (int64_t j = 0; j < n; j++)
    s[j] *= scale;
#ifdef NEGATED
  for (int64_t j = 0; j < n; j += 2) {
    for (int64_t i = 0; i < m; i++)
      w[j * m + i] = -w[j * m + i];
    for (int64_t i = 0; i < n; i++)
      v[j * n + i] = -v[j * n + i];
  }
#endif
#ifdef OTHER_REST
  if (m > n + 1)
    rotate(w + n * m, w + (m - 1) * m, m, 0.8f, 0.6f);
#endif
#ifdef EXCHANGED
  if (n > 1) {
    swap_rows(w, m, n / 2, n / 2 - 1);
    swap_rows(v, n, n / 2, n / 2 - 1);
  }
#endif
#ifdef VALUES_OFF
  for (int64_t j = 0; j < n; j++)
    s[j] *= 1.0001f;
#endif
#ifdef LEANING
  if (n > 1)
    rotate(v, v + (n - 1) * n, n, 1, 1e-4f);
#endif
#ifdef NEGATIVE
  s[n - 1] = -s[n - 1];
  for (int64_t i = 0; i < n; i++)
    v[(n - 1) * n + i] = -v[(n - 1) * n + i];
#endif
#ifdef ONE_VECTOR
  for (int64_t i = 0; i < m; i++)
    w[(m - 1) * m + i] *= 1.0005f;
#endif
#ifdef GARBAGE
  memset(w, 0, (size_t)(m * m) * sizeof *w);
  for (int64_t i = 0; i < m; i++)
    w[i * m + i] = 1;
#endif
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < m; j++)
      u[i * m + j] = w[j * m + i];
#ifdef TURNED
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < i; j++) {
      float kept = v[i * n + j];
      v[i * n + j] = v[j * n + i];
      v[j * n + i] = kept;
    }
#endif
#ifdef ZEROS
  memset(u, 0, (size_t)(m * m) * sizeof *u);
  memset(v, 0, (size_t)(n * n) * sizeof *v);
  memset(s, 0, (size_t)n * sizeof *s);
#endif
  free(w);
}
