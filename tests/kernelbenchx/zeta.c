// Hurwitz's zeta function by Euler's and Maclaurin's formula: ten terms, the integral, six Bernoulli numbers. The task
// asks where x is 1 or more and q zero or more, also far from its own numbers (1.1 to 12, 0.1 to 10).
// assay: task kernelbenchx/Math/zeta
// assay: expect pass
// assay: twin NARROW expect wrong_value|wrong_class -- q up to 10 only
// assay: twin NOT_BELOW expect wrong_value|wrong_class -- q from 0.1 on only
// assay: twin FAR_FROM_ONE expect wrong_value|wrong_class -- x from 1.1 on only
#include <assay/candidate.h>
#include <math.h>

static double zeta(double x, double q) {
  static const double factors[] = {1.0 / 12,       -1.0 / 720,     1.0 / 30240,
                                   -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000.0};
#if defined(NARROW)
  q = q > 10 ? 10 : q;
#elif defined(NOT_BELOW)
  q = q < 0.1 ? 0.1 : q;
#elif defined(FAR_FROM_ONE)
  x = x < 1.1 ? 1.1 : x;
#endif
  if (x == 1 || q == 0)
    return INFINITY;
  double sum = 0;
  for (int k = 0; k < 10; k++)
    sum += pow(q + k, -x);
  double end = q + 10, power = pow(end, -x);
  sum += power * end / (x - 1) + power / 2;
  double rising = x;
  for (int k = 0; k < 6; k++) {
    power /= k ? end * end : end;
    sum += factors[k] * rising * power;
    rising *= (x + 2 * k + 1) * (x + 2 * k + 2);
  }
  return sum;
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data, *q = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++)
    y[i] = (float)zeta((double)x[i], (double)q[i]);
}
