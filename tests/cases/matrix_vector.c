// A matrix times a vector: long dot products in 16 lanes, blocks of 4096 terms summed in double precision.
// assay: task kernelbench/1/4
// assay: expect pass
// assay: twin DROP_LAST expect wrong_value -- forgets the last term
// assay: twin SAMPLED expect wrong_value -- reads every 8th element of the matrix and scales up
// assay: twin FP16_VECTOR expect low_precision|wrong_value -- keeps the vector in half precision
// assay: twin CONSTANT expect wrong_value -- k / 4, the expected value for inputs from [0, 1)
#include <assay/candidate.h>
#include <math.h>

enum { LANES = 16, BLOCK = 4096 };

#ifdef FP16_VECTOR
// x rounded to 11 significant bits, or to half precision's subnormal grid of 2^-24.
static float element(float x) {
  int e;
  frexpf(x, &e);
  e = e < -13 ? -13 : e;
  return ldexpf(rintf(ldexpf(x, 11 - e)), e - 11);
}
#else
static inline float element(float x) {
  return x;
}
#endif

static float dot(const float *a, const float *x, int64_t n) {
  double sum = 0;
  int64_t p = 0;
#ifdef DROP_LAST
  n--;
#endif
#ifdef SAMPLED
  for (; p < n; p += 8)
    sum += 8 * a[p] * x[p];
#endif
  while (p + LANES <= n) {
    float part[LANES] = {0};
    int64_t end = p + BLOCK < n ? p + BLOCK : n;
    for (; p + LANES <= end; p += LANES)
      for (int l = 0; l < LANES; l++)
        part[l] += a[p + l] * element(x[p + l]);
    for (int l = 0; l < LANES; l++)
      sum += part[l];
  }
  for (; p < n; p++)
    sum += a[p] * element(x[p]);
#ifdef CONSTANT
  sum = (double)n / 4;
#endif
  return (float)sum;
}

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *a = args->inputs[0].data, *x = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t k = args->inputs[0].dims[1];
  for (int64_t i = begin; i < end; i++)
    y[i] = dot(a + i * k, x, k);
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0], rows, (void *)args);
}
