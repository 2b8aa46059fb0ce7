// Airy's function Ai: its power series where that does not cancel, the integral of a modified Bessel function beyond,
// and asymptotic series far out. Mistakes in one of these ranges are seen where probes ask in all of them.
// assay: task kernelbenchx/Math/airy_ai
// assay: expect pass
// assay: twin UNCORRECTED expect wrong_value -- above 8 only the first term of the asymptotic series, 0.5 % too large
// assay: twin UNDAMPED expect wrong_value -- below -9 only the first terms
// assay: twin SECOND_KIND expect wrong_value|wrong_class -- Bi
// assay: twin NARROW expect wrong_value -- right from -12 to 8, and 0 elsewhere
#include <assay/candidate.h>
#include <math.h>

static const double AT_0 = 0.35502805388781723926, SLOPE = 0.25881940379280679841, PI = 3.14159265358979323846;

enum { TERMS = 12 };

// The asymptotic series of a and z = 2/3 a^1.5, each term divided by a power of z.
static double far_out(double x) {
  double a = fabs(x), z = 2.0 / 3 * a * sqrt(a), term = 1, even = 1, odd = 0, all = 1;
  if (isinf(x))
    return 0;
  for (int k = 1; k < TERMS; k++) {
    term *= (6.0 * k - 5) * (6.0 * k - 3) * (6.0 * k - 1) / (216.0 * k * (2 * k - 1)) / z;
    all += k % 2 ? -term : term;
    double sign = k / 2 % 2 ? -1 : 1;
    if (k % 2)
      odd += sign * term;
    else
      even += sign * term;
  }
#ifdef UNCORRECTED
  all = 1;
#endif
#ifdef UNDAMPED
  even = 1;
  odd = 0;
#endif
  if (x > 0)
    return exp(-z) * all / (2 * sqrt(PI) * pow(a, 0.25));
  return (cos(z - PI / 4) * even + sin(z - PI / 4) * odd) / (sqrt(PI) * pow(a, 0.25));
}

static double series(double x) {
  double f = 1, g = x, first = 1, second = x;
  for (int k = 1; k < 120; k++) {
    first *= x * x * x / ((3.0 * k - 1) * (3 * k));
    second *= x * x * x / (3.0 * k * (3 * k + 1));
    f += first;
    g += second;
  }
#ifdef SECOND_KIND
  return sqrt(3) * (AT_0 * f + SLOPE * g);
#endif
  return AT_0 * f - SLOPE * g;
}

// sqrt(x / 3) / pi times K of order 1/3 at z, as an integral.
static double integral(double x) {
  double z = 2.0 / 3 * x * sqrt(x), sum = 0, step = 0.02;
  for (int k = -250; k <= 250; k++)
    sum += exp(-z * (cosh(k * step) - 1)) * cosh(k * step / 3);
  return sqrt(x / 3) / PI * sum * step / 2 * exp(-z);
}

static double airy(double x) {
  if (isnan(x))
    return x;
#ifdef NARROW
  if (x > 8 || x < -12)
    return 0;
#endif
  if (x > 8 || x < -9)
    return far_out(x);
#ifdef SECOND_KIND
  return series(x);
#endif
  return x > 3 ? integral(x) : series(x);
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++)
    y[i] = (float)airy((double)x[i]);
}
