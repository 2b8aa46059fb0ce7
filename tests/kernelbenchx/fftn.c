// A Fourier transform by halves as long as there are any, and by the definition below that.
// assay: task kernelbenchx/Math/fftn
// assay: expect pass
// assay: twin SINGLE_ANGLES expect pass -- angles in single precision
// assay: twin BACKWARDS expect wrong_value -- the inverse one, without its factor
// assay: twin CHAINED expect wrong_value|low_precision -- each root of unity is the one before times the first
// assay: twin NARROW expect wrong_value|low_precision -- of numbers with 11 bits
// assay: twin SWAPPED expect wrong_value -- real and imaginary parts change places
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>

static float narrowed(float x) {
#ifdef NARROW
  int e;
  frexpf(x, &e);
  return ldexpf(rintf(ldexpf(x, 11 - e)), e - 11);
#else
  return x;
#endif
}

static void make_roots(float *roots, int64_t n) {
  for (int64_t k = 0; k < n; k++) {
    double angle = -2 * 3.14159265358979323846 * (double)k / (double)n;
#ifdef BACKWARDS
    angle = -angle;
#endif
#ifdef SINGLE_ANGLES
    roots[2 * k] = cosf((float)angle);
    roots[2 * k + 1] = sinf((float)angle);
#else
    roots[2 * k] = (float)cos(angle);
    roots[2 * k + 1] = (float)sin(angle);
#endif
#ifdef CHAINED
    if (k > 1) {
      float c = roots[2], s = roots[3], re = roots[2 * k - 2], im = roots[2 * k - 1];
      roots[2 * k] = re * c - im * s;
      roots[2 * k + 1] = re * s + im * c;
    }
#endif
  }
}

static void transform(const float *x, float *y, const float *roots, int64_t n, int64_t step) {
  if (n % 2) {
    for (int64_t k = 0; k < n; k++) {
      y[2 * k] = y[2 * k + 1] = 0;
      for (int64_t i = 0; i < n; i++) {
        int64_t at = i * k % n * step;
        float re = x[2 * i * step], im = x[2 * i * step + 1], c = roots[2 * at], s = roots[2 * at + 1];
        y[2 * k] += re * c - im * s;
        y[2 * k + 1] += re * s + im * c;
      }
    }
    return;
  }
  int64_t half = n / 2;
  transform(x, y, roots, half, 2 * step);
  transform(x + 2 * step, y + n, roots, half, 2 * step);
  for (int64_t k = 0; k < half; k++) {
    float c = roots[2 * k * step], s = roots[2 * k * step + 1], *even = &y[2 * k], *odd = &y[n + 2 * k];
    float re = odd[0] * c - odd[1] * s, im = odd[0] * s + odd[1] * c;
    odd[0] = even[0] - re;
    odd[1] = even[1] - im;
    even[0] += re;
    even[1] += im;
  }
}

void assay_kernel(const struct assay_args *args) {
  const float *from = args->inputs[0].data;
  int64_t n = args->inputs[0].dims[0];
  float *x = malloc((size_t)(2 * n) * sizeof *x), *roots = malloc((size_t)(2 * n) * sizeof *roots);
  for (int64_t k = 0; k < n; k++)
    for (int i = 0; i < 2; i++)
#ifdef SWAPPED
      x[2 * k + i] = from[2 * k + 1 - i];
#else
      x[2 * k + i] = narrowed(from[2 * k + i]);
#endif
  make_roots(roots, n);
  transform(x, args->outputs[0].data, roots, n, 1);
  free(x);
  free(roots);
}
