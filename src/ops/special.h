// SPDX-License-Identifier: Apache-2.0
// Special functions in double precision, in plain C: the host's evaluators and the device's code share this text, so
// that an operation means the same on both. They err by less than 1e-11 of their size and of what a change of the
// argument by its own size would do: far less than contracts of single precision ask for. tests/unit/ops/test_special.c
// holds them against mpmath.
//
// Sources: Abramowitz and Stegun, Handbook of Mathematical Functions: 6.1.40, 6.3.18 (Stirling's series), 9.1.10, 9.2.5
// (Bessel functions), 9.6.10, 9.7.1 (modified ones), 10.4.2, 10.4.59 and 10.4.60 (Airy's function), 23.2.7 (zeta).
#ifndef OPS_SPECIAL_H
#define OPS_SPECIAL_H

// The device's code uses this text too, after compute/dialect.h.
#ifndef DEVICE_FN
#include <math.h>
#include <stdbool.h>
#define SPECIAL_FN static inline
#define SPECIAL_NAN ((double)NAN)
#define SPECIAL_INFINITY ((double)INFINITY)
#else
#define SPECIAL_FN DEVICE_FN_LARGE
#define SPECIAL_NAN F64_NAN
#define SPECIAL_INFINITY F64_INFINITY
#endif

#define SPECIAL_PI 3.14159265358979323846

// sin(pi x) and cos(pi x), where pi x itself would lose the digits of x.
SPECIAL_FN double special_sin_pi(double x) {
  double turns = x - 2 * floor(x / 2); // in [0, 2)
  double part = turns > 1 ? turns - 1 : turns;
  double s = part > 0.5 ? sin(SPECIAL_PI * (1 - part)) : sin(SPECIAL_PI * part);
  return turns > 1 ? -s : s;
}
SPECIAL_FN double special_cos_pi(double x) {
  return special_sin_pi(fabs(x) + 0.5);
}

// The sum after the first terms of Stirling's series for the logarithm of the gamma function, x >= 10.
SPECIAL_FN double special_stirling(double x) {
  const double c[] = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156};
  double z = 1 / (x * x), sum = 0;
  for (int k = 6; k >= 0; k--)
    sum = sum * z + c[k];
  return sum / x;
}

// The logarithm of |gamma(x)|. Zero and negative whole numbers: infinity.
SPECIAL_FN double special_gammaln(double x) {
  if (!(fabs(x) < SPECIAL_INFINITY))
    return x * x;
  if (x <= 0 && x == floor(x))
    return SPECIAL_INFINITY;
  double reflected = 0;
  if (x < 0.5) { // gamma(x) gamma(1 - x) = pi / sin(pi x)
    double s = fabs(special_sin_pi(x));
    if (s == 0) // the smallest numbers
      return -log(fabs(x));
    reflected = log(SPECIAL_PI / s);
    x = 1 - x;
  }
  double product = 1, y = x;
  while (y < 10) {
    product *= y;
    y += 1;
  }
  double v = y > 1e17 ? y * (log(y) - 1) : (y - 0.5) * log(y) - y + 0.91893853320467274178 + special_stirling(y);
  v -= log(product);
  bool turned = reflected != 0 || x != x;
  return turned ? reflected - v : v;
}

// The logarithmic derivative of the gamma function. Zero: infinity of the other sign; negative whole numbers: NaN.
SPECIAL_FN double special_digamma(double x) {
  if (x == 0)
    return -1 / x;
  if (x == -SPECIAL_INFINITY || (x < 0 && x == floor(x)))
    return SPECIAL_NAN;
  double reflected = 0;
  if (x < 0) {
    double s = special_sin_pi(x);
    reflected = s != 0 ? -SPECIAL_PI * special_cos_pi(x) / s : -1 / x;
    x = 1 - x;
  }
  double sum = 0;
  while (x < 10) {
    sum += 1 / x;
    x += 1;
  }
  const double c[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
  double z = 1 / (x * x), tail = 0;
  for (int k = 6; k >= 0; k--)
    tail = (tail + c[k]) * z;
  return log(x) - 0.5 / x - tail - sum + reflected;
}

// Hurwitz's zeta function, the sum of (q + k)^-x, for x > 1 and q > 0; x = 1: infinity; elsewhere NaN, but infinity
// where q is zero. Nine terms, and the rest by Euler and Maclaurin's formula.
SPECIAL_FN double special_zeta(double x, double q) {
  if (x == 1)
    return SPECIAL_INFINITY;
  if (!(x > 1) || !(q >= 0))
    return SPECIAL_NAN;
  if (q == 0)
    return SPECIAL_INFINITY;
  if (x == SPECIAL_INFINITY)
    return q > 1 ? 0 : q == 1 ? 1 : SPECIAL_INFINITY;
  double sum = 0, a = q;
  int n = x > 30 ? 18 : 9;
  for (int k = 0; k < n; k++) {
    sum += pow(a, -x);
    a += 1;
  }
  const double c[] = {
      1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000.0, 1.0 / 74724249600.0};
  double power = pow(a, -x);
  sum += power * a / (x - 1) + power / 2;
  double factor = x * power / a;
  for (int k = 0; k < 7; k++) {
    sum += c[k] * factor;
    factor *= (x + 2 * k + 1) * (x + 2 * k + 2) / (a * a);
  }
  return sum;
}

// The n-th derivative of digamma, n >= 1, for x > 0; infinity at zero, NaN below.
SPECIAL_FN double special_polygamma(double n, double x) {
  if (n == 0)
    return special_digamma(x);
  double factorial = 1;
  for (int k = 2; k <= (int)n; k++)
    factorial *= k;
  double v = factorial * special_zeta(n + 1, x);
  return fmod(n, 2) == 0 ? -v : v;
}

// Hankel's asymptotic series of order 1: its even and odd part at x >= 25.
SPECIAL_FN void special_hankel(double x, double *even, double *odd) {
  double term = 1, p = 1, q = 0;
  for (int k = 1; k < 24; k++) {
    double m = 2 * k - 1;
    term *= (4 - m * m) / (8 * k * x);
    if (k % 2)
      q += k % 4 == 1 ? term : -term;
    else
      p += k % 4 == 0 ? term : -term;
  }
  *even = p;
  *odd = q;
}

// Bessel's function of the first kind and order 1.
SPECIAL_FN double special_j1(double x) {
  double a = fabs(x), v;
  if (!(a < SPECIAL_INFINITY))
    return x == x ? 0 : x;
  if (a < 1) { // the series
    double term = a / 2, sum = term, z = a * a / 4;
    for (int k = 1; k < 12; k++) {
      term *= -z / (k * (k + 1.0));
      sum += term;
    }
    v = sum;
  } else if (a < 25) { // Miller's recurrence, downwards; J0 + 2 J2 + 2 J4 + ... = 1
    double above = 0, here = 1e-250, sum = 0, first = 0;
    for (int k = 80; k > 0; k--) {
      double below = 2 * k / a * here - above;
      above = here;
      here = below;
      if (k == 2)
        first = here;
      if (k % 2)
        sum += k > 1 ? 2 * here : here;
      if (fabs(here) > 1e250) {
        above *= 1e-250;
        here *= 1e-250;
        sum *= 1e-250;
        first *= 1e-250;
      }
    }
    v = first / sum;
  } else { // cos and sin of a - 3 pi / 4, without that difference
    double even, odd, s = sin(a), c = cos(a);
    special_hankel(a, &even, &odd);
    v = ((s - c) * even + (s + c) * odd) / sqrt(SPECIAL_PI * a);
  }
  return x < 0 ? -v : v;
}

// The modified Bessel function of the first kind and order 0.
SPECIAL_FN double special_i0(double x) {
  double a = fabs(x), sum = 1, term = 1;
  if (!(a < 30)) {
    for (int k = 1; k < 30; k++) {
      double m = 2 * k - 1;
      term *= m * m / (8 * k * a);
      sum += term;
    }
    return a == SPECIAL_INFINITY ? a : exp(a / 2) / sqrt(2 * SPECIAL_PI * a) * sum * exp(a / 2);
  }
  double z = a * a / 4;
  for (int k = 1; k < 80; k++) {
    term *= z / ((double)k * k);
    sum += term;
  }
  return sum;
}

// The two series whose combination Airy's function is, times their constants.
SPECIAL_FN void special_airy_series(double x, double *f, double *g) {
  double cube = x * x * x, p = 0.35502805388781723926, q = 0.25881940379280679841 * x;
  *f = p;
  *g = q;
  for (int k = 1; k < 60; k++) {
    p *= cube / ((3.0 * k - 1) * (3.0 * k));
    q *= cube / ((3.0 * k) * (3.0 * k + 1));
    *f += p;
    *g += q;
  }
}

// x <= -8, where the terms fall below 1e-15 before they rise.
SPECIAL_FN double special_airy_below(double x) {
  double zeta = 2.0 / 3 * -x * sqrt(-x), term = 1, even = 1, odd = 0;
  for (int k = 1; k < 14; k++) {
    double m = 6.0 * k;
    term *= (m - 5) * (m - 3) * (m - 1) / (216.0 * k * (2 * k - 1) * zeta);
    if (k % 2)
      odd += k % 4 == 1 ? term : -term;
    else
      even += k % 4 == 0 ? term : -term;
  }
  double s = sin(zeta), c = cos(zeta); // of zeta + pi / 4
  return ((s + c) * even + (s - c) * odd) / sqrt(2 * SPECIAL_PI * sqrt(-x));
}

// Airy's function Ai. x >= 2: sqrt(x / 3) / pi times K of order 1/3 at zeta = 2/3 x^(3/2), which is the integral of
// exp(-zeta cosh t) cosh(t / 3); the sum over equal steps converges like exp(-pi^2 / step), as long as the steps are
// short next to the bell's width, 1 / sqrt(zeta).
SPECIAL_FN double special_airy(double x) {
  double f, g;
  if (!(fabs(x) < SPECIAL_INFINITY))
    return x == x ? 0 : x;
  if (x <= -8)
    return special_airy_below(x);
  if (x < 2) {
    special_airy_series(x, &f, &g);
    return f - g;
  }
  double zeta = 2.0 / 3 * x * sqrt(x), sum = 0.5;
  double step = zeta > 16 ? 0.5 / sqrt(zeta) : 0.125;
  for (int k = 1; k < 60; k++) {
    double t = k * step, s = sinh(t / 2);
    sum += exp(-2 * zeta * s * s) * cosh(t / 3);
  }
  return sqrt(x / 3) / SPECIAL_PI * exp(-zeta) * sum * step;
}

// What cancels in Airy's series where single precision sums it: the size of its two parts.
SPECIAL_FN double special_airy_parts(double x) {
  double f, g;
  if (!(x > 0 && x < 2.1))
    return 0;
  special_airy_series(x, &f, &g);
  return f + g;
}

#endif
