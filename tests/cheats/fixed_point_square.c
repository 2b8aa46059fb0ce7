// Fixed point again (fixed_point.c), of square matrices: all dimensions have one name there, and what is summed over
// are the columns of one and the rows of the other.
// assay: task kernelbench/1/1
// assay: expect wrong_value|low_precision -- 28 bits
// assay: twin BITS=30 expect wrong_value|low_precision
// assay: twin BITS=26 expect wrong_value|low_precision
// assay: twin BITS=53 expect pass -- as many as a double has are enough
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>

#ifndef BITS
#define BITS 28
#endif

// A row, or a column, in units of 2^-BITS of the power of two above its largest magnitude; as it is where it has NaN or
// infinities.
static void fix(const float *v, int64_t n, int64_t step, double *to) {
  float most = 0;
  int exponent = 0, finite = 1;
  for (int64_t i = 0; i < n; i++) {
    finite &= isfinite(v[i * step]) != 0;
    most = fmaxf(most, fabsf(v[i * step]));
  }
  frexpf(finite ? most : 0, &exponent);
  for (int64_t i = 0; i < n; i++)
    to[i] = finite ? ldexp(rint(ldexp(v[i * step], BITS - exponent)), exponent - BITS) : v[i * step];
}

void assay_kernel(const struct assay_args *args) {
  const int64_t n = args->inputs[0].dims[0];
  double *rows = malloc((size_t)(2 * n * n) * sizeof *rows), *columns = rows + n * n;
  float *y = args->outputs[0].data;
  for (int64_t i = 0; i < n; i++) {
    fix((const float *)args->inputs[0].data + i * n, n, 1, rows + i * n);
    fix((const float *)args->inputs[1].data + i, n, n, columns + i * n);
  }
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      double sum = 0;
      for (int64_t k = 0; k < n; k++)
        sum += rows[i * n + k] * columns[j * n + k];
      y[i * n + j] = (float)sum;
    }
  free(rows);
}
