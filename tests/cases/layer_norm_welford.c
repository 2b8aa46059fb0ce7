// Layer normalisation with Welford's running mean and variance: one sweep without cancellation. 16 lanes run side by
// side and are merged by the formula of Chan, Golub and LeVeque (1979).
// assay: task kernelbench/1/40
// assay: expect pass
// assay: twin NO_DELTA expect wrong_value -- merges the lanes without the term for their different means
// assay: twin LOST_TAIL expect wrong_class|wrong_value|low_precision -- statistics forget what is left after the last whole group
// assay: twin BETA_FIRST expect wrong_value -- adds beta before scaling
#include <assay/candidate.h>
#include <math.h>

#define EPSILON 1e-5
enum { LANES = 16 };

struct moments {
  double n, mean, m2; // m2: sum of squared deviations
};

static struct moments merge(struct moments a, struct moments b) {
  double n = a.n + b.n;
  if (n == 0)
    return a;
  double delta = b.mean - a.mean;
#ifdef NO_DELTA
  return (struct moments){n, a.mean + delta * b.n / n, a.m2 + b.m2};
#else
  return (struct moments){n, a.mean + delta * b.n / n, a.m2 + b.m2 + delta * delta * a.n * b.n / n};
#endif
}

static struct moments moments_of(const float *x, int64_t n) {
  float mean[LANES] = {0}, m2[LANES] = {0};
  int64_t steps = n / LANES;
  for (int64_t i = 0; i < steps; i++) {
    float weight = 1 / (float)(i + 1);
    for (int l = 0; l < LANES; l++) {
      float delta = x[i * LANES + l] - mean[l];
      mean[l] += delta * weight;
      m2[l] += delta * (x[i * LANES + l] - mean[l]);
    }
  }
  struct moments all = {0};
  for (int l = 0; l < LANES; l++)
    all = merge(all, (struct moments){(double)steps, mean[l], m2[l]});
#ifndef LOST_TAIL
  for (int64_t i = steps * LANES; i < n; i++)
    all = merge(all, (struct moments){1, x[i], 0});
#endif
  return all;
}

static void samples(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *gamma = args->inputs[1].data, *beta = args->inputs[2].data;
  const int64_t *dims = args->inputs[0].dims;
  int64_t n = dims[1] * dims[2] * dims[3];
  for (int64_t s = begin; s < end; s++) {
    const float *x = (const float *)args->inputs[0].data + s * n;
    float *y = (float *)args->outputs[0].data + s * n;
    struct moments m = moments_of(x, n);
    float mean = (float)m.mean, low = (float)(m.mean - mean); // the mean in two parts
    float scale = (float)(1 / sqrt(m.m2 / m.n + EPSILON));
    for (int64_t i = 0; i < n; i++)
#ifdef BETA_FIRST
      y[i] = ((x[i] - mean - low) * scale + beta[i]) * gamma[i];
#else
      y[i] = (x[i] - mean - low) * scale * gamma[i] + beta[i];
#endif
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0], samples, (void *)args);
}
