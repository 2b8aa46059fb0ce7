// Eigenvalues by complex QR steps on a Hessenberg matrix, vectors by back substitution.
// assay: task kernelbenchx/LinearAlgebra/eig
// assay: expect pass
// assay: twin TURNED_PHASE expect pass -- every vector times i, and all in the other order: as right
// assay: twin ASCENDING expect pass -- sorted by their real parts, of a pair the one below zero first: as right
// assay: twin MATES expect wrong_value -- the two values of every conjugate pair change places, their vectors do not
// assay: twin REAL_PARTS expect wrong_value -- values without their imaginary parts
// assay: twin VALUE_OFF expect wrong_value|low_precision -- one value a ten thousandth off
// assay: twin GARBAGE expect wrong_value -- the right values, and unit vectors that are not theirs
// assay: twin ONE_PAIR expect wrong_value|wrong_class -- the first pair n times
// assay: twin ONE_VECTOR expect wrong_value|low_precision -- one vector a thousandth of another one off
// assay: twin LONG expect wrong_value -- vectors of length 2
// assay: twin CONJUGATE expect wrong_value -- the conjugate vectors
// assay: twin LEFT expect wrong_value -- the eigenvectors of the transposed matrix
// assay: twin NARROW expect wrong_value|low_precision -- of the matrix rounded to 11 bits
// assay: twin ZEROS expect wrong_value|wrong_class -- nothing at all
#include <assay/candidate.h>
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef double complex number;

static float narrow(float x) {
#ifdef NARROW
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x0fff + (bits >> 13 & 1)) & 0xffffe000u;
  memcpy(&x, &bits, sizeof x);
#endif
  return x;
}

// c and s of the rotation that takes (a, b) to (r, 0).
static void rotation(number a, number b, double *c, number *s) {
  double size = hypot(cabs(a), cabs(b));
  if (size == 0 || cabs(b) == 0) {
    *c = 1;
    *s = 0;
  } else if (cabs(a) == 0) {
    *c = 0;
    *s = conj(b) / cabs(b);
  } else {
    *c = cabs(a) / size;
    *s = a / cabs(a) * conj(b) / size;
  }
}

static void rotate_rows(number *h, int64_t n, int64_t i, int64_t from, double c, number s) {
  for (int64_t j = from; j < n; j++) {
    number a = h[i * n + j], b = h[(i + 1) * n + j];
    h[i * n + j] = c * a + s * b;
    h[(i + 1) * n + j] = c * b - conj(s) * a;
  }
}

static void rotate_columns(number *h, int64_t n, int64_t i, int64_t to, double c, number s) {
  for (int64_t k = 0; k < to; k++) {
    number a = h[k * n + i], b = h[k * n + i + 1];
    h[k * n + i] = c * a + conj(s) * b;
    h[k * n + i + 1] = c * b - s * a;
  }
}

// To Hessenberg's form, by rotations of neighbouring rows.
static void reduce(number *h, number *z, int64_t n) {
  for (int64_t j = 0; j + 2 < n; j++)
    for (int64_t i = n - 2; i > j; i--) {
      double c;
      number s;
      rotation(h[i * n + j], h[(i + 1) * n + j], &c, &s);
      rotate_rows(h, n, i, 0, c, s);
      rotate_columns(h, n, i, n, c, s);
      rotate_columns(z, n, i, n, c, s);
      h[(i + 1) * n + j] = 0;
    }
}

// The eigenvalue of the last two rows up to `last` that is nearer to the corner.
static number shift_of(const number *h, int64_t n, int64_t last) {
  number a = h[(last - 1) * n + last - 1], b = h[(last - 1) * n + last], c = h[last * n + last - 1],
         d = h[last * n + last];
  number half = (a + d) / 2, root = csqrt((a - d) * (a - d) / 4 + b * c);
  return cabs(half + root - d) < cabs(half - root - d) ? half + root : half - root;
}

static void step(number *h, number *z, int64_t n, int64_t first, int64_t last, number shift) {
  double *c = malloc((size_t)n * sizeof *c);
  number *s = malloc((size_t)n * sizeof *s);
  for (int64_t i = first; i <= last; i++)
    h[i * n + i] -= shift;
  for (int64_t i = first; i < last; i++) {
    rotation(h[i * n + i], h[(i + 1) * n + i], &c[i], &s[i]);
    rotate_rows(h, n, i, i, c[i], s[i]);
  }
  for (int64_t i = first; i < last; i++) {
    rotate_columns(h, n, i, i + 2, c[i], s[i]);
    rotate_columns(z, n, i, n, c[i], s[i]);
  }
  for (int64_t i = first; i <= last; i++)
    h[i * n + i] += shift;
  free(c);
  free(s);
}

static void triangulate(number *h, number *z, int64_t n) {
  int tries = 0;
  for (int64_t last = n - 1; last > 0;) {
    int64_t first = last;
    while (first > 0 &&
           cabs(h[first * n + first - 1]) > 1e-16 * (cabs(h[first * n + first]) + cabs(h[(first - 1) * n + first - 1])))
      first--;
    if (first > 0)
      h[first * n + first - 1] = 0;
    if (first == last) {
      last--;
      tries = 0;
    } else {
      number shift = shift_of(h, n, last);
      step(h, z, n, first, last, ++tries % 10 ? shift : shift + cabs(h[last * n + last - 1]));
    }
  }
}

// Vector j of the triangle t, times z, of length 1.
static void vector_of(const number *t, const number *z, int64_t n, int64_t j, number *x, number *v) {
  double squares = 0;
  for (int64_t i = 0; i < n; i++)
    x[i] = i == j;
  for (int64_t i = j - 1; i >= 0; i--) {
    number sum = 0, gap = t[j * n + j] - t[i * n + i];
    for (int64_t k = i + 1; k <= j; k++)
      sum += t[i * n + k] * x[k];
    x[i] = sum / (cabs(gap) > 0 ? gap : 1e-12);
  }
  for (int64_t i = 0; i < n; i++) {
    v[i] = 0;
    for (int64_t k = 0; k <= j; k++)
      v[i] += z[i * n + k] * x[k];
    squares += creal(v[i] * conj(v[i]));
  }
  for (int64_t i = 0; i < n; i++)
    v[i] /= sqrt(squares);
}

#ifdef ASCENDING
// The place of value j among all.
static int64_t place_of(const number *t, int64_t n, int64_t j) {
  int64_t place = 0;
  number mine = t[j * n + j];
  for (int64_t i = 0; i < n; i++) {
    number other = t[i * n + i];
    double apart = creal(other) - creal(mine);
    int pair = fabs(apart) < 1e-9 * cabs(mine);
    place += i != j && (pair ? cimag(other) < cimag(mine) || (cimag(other) == cimag(mine) && i < j) : apart < 0);
  }
  return place;
}
#endif

static void put(const struct assay_args *args, int64_t n, int64_t j, number w, const number *v) {
  float *values = args->outputs[0].data, *vectors = args->outputs[1].data;
  values[2 * j] = (float)creal(w);
  values[2 * j + 1] = (float)cimag(w);
#ifdef MATES
  values[2 * j + 1] = -values[2 * j + 1];
#endif
#ifdef REAL_PARTS
  values[2 * j + 1] = 0;
#endif
#ifdef VALUE_OFF
  values[2 * j] *= j == n / 2 ? 1.0001f : 1;
  values[2 * j + 1] *= j == n / 2 ? 1.0001f : 1;
#endif
  for (int64_t i = 0; i < n; i++) {
    number x = v[i];
#ifdef LONG
    x *= 2;
#endif
#ifdef CONJUGATE
    x = conj(x);
#endif
#ifdef TURNED_PHASE
    x *= I;
#endif
    vectors[2 * (i * n + j)] = (float)creal(x);
    vectors[2 * (i * n + j) + 1] = (float)cimag(x);
  }
}

void assay_kernel(const struct assay_args *args) {
  const float *a = args->inputs[0].data;
  int64_t n = args->inputs[0].dims[0];
  number *h = malloc((size_t)(2 * n * n) * sizeof *h), *z = h + n * n, *x = malloc((size_t)(2 * n) * sizeof *x);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
#ifdef LEFT
      h[i * n + j] = a[j * n + i];
#else
      h[i * n + j] = narrow(a[i * n + j]);
#endif
      z[i * n + j] = i == j;
    }
  reduce(h, z, n);
  triangulate(h, z, n);
  for (int64_t j = 0; j < n; j++) {
    int64_t from = j, to = j;
#ifdef ONE_PAIR
    from = 0;
#endif
#ifdef TURNED_PHASE
    to = n - 1 - j;
#endif
#ifdef ASCENDING
    to = place_of(h, n, j);
#endif
    vector_of(h, z, n, from, x, x + n);
#ifdef GARBAGE
    for (int64_t i = 0; i < n; i++)
      x[n + i] = i == j;
#endif
#ifdef ONE_VECTOR
    if (j == n - 1) {
      for (int64_t i = 0; i < n; i++)
        x[n + i] += 0.001 * z[i * n];
    }
#endif
    put(args, n, to, h[from * n + from], x + n);
  }
#ifdef ZEROS
  memset(args->outputs[0].data, 0, (size_t)(2 * n) * sizeof(float));
  memset(args->outputs[1].data, 0, (size_t)(2 * n * n) * sizeof(float));
#endif
  free(h);
  free(x);
}
