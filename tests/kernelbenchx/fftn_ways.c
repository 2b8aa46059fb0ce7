// A Fourier transform in two steps: of columns and of rows of a table, whose numbers are turned in between.
// assay: task kernelbenchx/Math/fftn
// assay: expect pass
// assay: twin OTHER_WAY expect pass -- the same by more rows than columns
// assay: twin SINGLE_ANGLES expect pass -- angles in single precision, at most half a turn
// assay: twin HALF_TURNS expect pass -- angles in half turns, rounded to single precision
// assay: twin WHOLE_TURN expect wrong_value|low_precision -- angles in single precision, of up to a whole turn
// assay: twin NORMALISED expect wrong_value -- divided by how many numbers there are
// assay: twin ORTHONORMAL expect wrong_value -- divided by the root of that
// assay: twin REAL expect wrong_value -- of the real parts alone
// assay: twin MIRRORED expect wrong_value -- the upper half as of real numbers: the lower half's conjugate
// assay: twin FIRST_DIGITS expect wrong_value|low_precision -- roots of unity of 12 bits
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>

static void root(int64_t k, int64_t n, float *c, float *s) {
  k %= n;
#if defined SINGLE_ANGLES || defined WHOLE_TURN
#ifdef SINGLE_ANGLES
  k = k > n / 2 ? k - n : k;
#endif
  float angle = -6.283185307179586476F * (float)k / (float)n;
  *c = cosf(angle);
  *s = sinf(angle);
#else
#ifdef HALF_TURNS
  double angle = -3.141592653589793238 * (double)(2 * (float)k / (float)n);
#else
  double angle = -6.283185307179586476 * (double)k / (double)n;
#endif
  *c = (float)cos(angle);
  *s = (float)sin(angle);
#endif
#ifdef FIRST_DIGITS
  *c = rintf(*c * 4096) / 4096;
  *s = rintf(*s * 4096) / 4096;
#endif
}

// n numbers at x, `step` apart, by the definition.
static void by_definition(const float *x, int64_t step, float *y, int64_t n, const float *roots) {
  for (int64_t k = 0; k < n; k++) {
    float re = 0, im = 0;
    for (int64_t i = 0; i < n; i++) {
      const float *at = &x[2 * i * step], *w = &roots[2 * (i * k % n)];
      re += at[0] * w[0] - at[1] * w[1];
      im += at[0] * w[1] + at[1] * w[0];
    }
    y[2 * k] = re;
    y[2 * k + 1] = im;
  }
}

static float *roots_of(int64_t n) {
  float *roots = malloc((size_t)(2 * n) * sizeof *roots);
  for (int64_t k = 0; k < n; k++)
    root(k, n, &roots[2 * k], &roots[2 * k + 1]);
  return roots;
}

void assay_kernel(const struct assay_args *args) {
  const float *from = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = args->inputs[0].dims[0], rows = 1;
  for (int64_t d = 1; d * d <= n; d++)
    rows = n % d ? rows : d;
#ifdef OTHER_WAY
  rows = n / rows;
#endif
  int64_t columns = n / rows;
  float *x = malloc((size_t)(2 * n) * sizeof *x), *table = malloc((size_t)(2 * n) * sizeof *table);
  float *of_rows = roots_of(rows), *of_columns = roots_of(columns), *line = malloc((size_t)(2 * n) * sizeof *line);
  for (int64_t i = 0; i < 2 * n; i++)
#ifdef REAL
    x[i] = i % 2 ? 0 : from[i];
#else
    x[i] = from[i];
#endif
  for (int64_t j = 0; j < columns; j++) {
    by_definition(x + 2 * j, columns, line, rows, of_rows);
    for (int64_t k = 0; k < rows; k++) {
      float c, s, re = line[2 * k], im = line[2 * k + 1];
      root(j * k, n, &c, &s);
      table[2 * (k * columns + j)] = re * c - im * s;
      table[2 * (k * columns + j) + 1] = re * s + im * c;
    }
  }
  for (int64_t k = 0; k < rows; k++) {
    by_definition(table + 2 * k * columns, 1, line, columns, of_columns);
    for (int64_t j = 0; j < columns; j++) {
      y[2 * (j * rows + k)] = line[2 * j];
      y[2 * (j * rows + k) + 1] = line[2 * j + 1];
    }
  }
  for (int64_t k = 0; k < n; k++) {
    float by = 1;
#ifdef NORMALISED
    by = 1 / (float)n;
#endif
#ifdef ORTHONORMAL
    by = 1 / sqrtf((float)n);
#endif
    y[2 * k] *= by;
    y[2 * k + 1] *= by;
#ifdef MIRRORED
    if (k > n / 2) {
      y[2 * k] = y[2 * (n - k)];
      y[2 * k + 1] = -y[2 * (n - k) + 1];
    }
#endif
  }
  free(x);
  free(table);
  free(line);
  free(of_rows);
  free(of_columns);
}
