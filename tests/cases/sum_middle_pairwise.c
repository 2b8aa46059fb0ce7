// Sum over the middle dimension by halving: the most accurate way in single precision, with other rounding errors than
// adding in order.
// assay: task kernelbench/1/47
// assay: expect pass
// assay: twin ODD_HALF expect wrong_value -- an odd number of rows loses its last one
// assay: twin FP16_SUM expect low_precision|wrong_class -- partial sums in half precision
// assay: twin MAX expect wrong_value -- the largest element instead of the sum
#include <assay/candidate.h>
#include <math.h>

static float add(float a, float b) {
#if defined(FP16_SUM)
  int e;
  float s = a + b;
  frexpf(s, &e);
  e = e < -13 ? -13 : e;
  return e > 16 ? copysignf(INFINITY, s) : ldexpf(rintf(ldexpf(s, 11 - e)), e - 11); // 11 significant bits
#elif defined(MAX)
  return a > b ? a : b;
#else
  return a + b;
#endif
}

// The sum of n elements that lie `step` apart.
static float sum_of(const float *x, int64_t n, int64_t step) {
  if (n == 1)
    return *x;
  int64_t half = n / 2;
#ifdef ODD_HALF
  return add(sum_of(x, half, step), sum_of(x + half * step, half, step));
#else
  return add(sum_of(x, half, step), sum_of(x + half * step, n - half, step));
#endif
}

static void columns(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t m = args->inputs[0].dims[1], n = args->inputs[0].dims[2];
  for (int64_t i = begin; i < end; i++)
    y[i] = sum_of(x + i / n * m * n + i % n, m, n);
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0] * args->inputs[0].dims[2], columns, (void *)args);
}
