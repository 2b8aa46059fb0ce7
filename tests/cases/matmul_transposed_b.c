// Product of a matrix and a transposed one: y = a b^T. Both rows of every dot product are contiguous, so it runs in 16
// lanes.
// assay: task kernelbench/1/17
// assay: expect pass
// assay: twin NO_TAIL expect wrong_value -- drops the terms after the last whole group of 16
// assay: twin TRANSPOSED expect wrong_value|out_of_bounds -- stores the transpose of the result
// assay: twin FP16_INPUTS expect low_precision|wrong_class -- rounds a and b to half precision
#include <assay/candidate.h>
#include <math.h>

enum { LANES = 16 };

#ifdef FP16_INPUTS
// x rounded to 11 significant bits, or to half precision's subnormal grid of 2^-24; beyond 65504 it is infinite.
static float prepare(float x) {
  int e;
  frexpf(x, &e);
  e = e < -13 ? -13 : e;
  return e > 16 ? copysignf(INFINITY, x) : ldexpf(rintf(ldexpf(x, 11 - e)), e - 11);
}
#else
static float prepare(float x) {
  return x;
}
#endif

static float dot(const float *a, const float *b, int64_t n) {
  float part[LANES] = {0}, sum = 0;
  int64_t whole = n - n % LANES;
  for (int64_t p = 0; p < whole; p += LANES)
    for (int l = 0; l < LANES; l++)
      part[l] += prepare(a[p + l]) * prepare(b[p + l]);
#ifndef NO_TAIL
  for (int64_t p = whole; p < n; p++)
    sum += prepare(a[p]) * prepare(b[p]);
#endif
  for (int step = LANES / 2; step; step /= 2) // pairwise, which compilers turn into shuffles
    for (int l = 0; l < step; l++)
      part[l] += part[l + step];
  return sum + part[0];
}

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *a = args->inputs[0].data, *b = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t k = args->inputs[0].dims[1], n = args->inputs[1].dims[0];
  for (int64_t i = begin; i < end; i++)
    for (int64_t j = 0; j < n; j++)
#ifdef TRANSPOSED
      y[j * args->inputs[0].dims[0] + i] = dot(a + i * k, b + j * k, k);
#else
      y[i * n + j] = dot(a + i * k, b + j * k, k);
#endif
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0], rows, (void *)args);
}
