// Rows divided by their Euclidean norm. Squares are summed in single precision, in 32 lanes and blocks of 1024.
// assay: task kernelbench/1/39
// assay: expect pass
// assay: twin ONE_SUM expect pass -- one accumulator for a row
// assay: twin RMS expect wrong_value -- divides by the root of the mean
// assay: twin NO_ROOT expect wrong_value -- divides by the sum of squares
// assay: twin ROW_BEFORE expect wrong_value -- uses the norm of the row before
// assay: twin FP16_SQUARES expect low_precision|wrong_value|wrong_class -- squares in half precision
#include <assay/candidate.h>
#include <math.h>

enum { LANES = 32, BLOCK = 1024 };

static float square(float x) {
#ifdef FP16_SQUARES
  int e;
  float s = x * x;
  frexpf(s, &e);
  e = e < -13 ? -13 : e;
  return e > 16 ? INFINITY : ldexpf(rintf(ldexpf(s, 11 - e)), e - 11);
#else
  return x * x;
#endif
}

static float norm(const float *x, int64_t n) {
  float sum = 0;
#ifdef ONE_SUM
  for (int64_t i = 0; i < n; i++)
    sum += square(x[i]);
  n = 0;
#endif
  for (int64_t start = 0; start < n; start += BLOCK) {
    float part[LANES] = {0};
    int64_t stop = start + BLOCK < n ? start + BLOCK : n, i = start;
    for (; i + LANES <= stop; i += LANES)
      for (int l = 0; l < LANES; l++)
        part[l] += square(x[i + l]);
    for (; i < stop; i++)
      part[0] += square(x[i]);
    for (int step = LANES / 2; step; step /= 2)
      for (int l = 0; l < step; l++)
        part[l] += part[l + step];
    sum += part[0];
  }
#ifdef RMS
  sum /= (float)n;
#endif
#ifdef NO_ROOT
  return sum;
#else
  return sqrtf(sum);
#endif
}

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  int64_t n = args->inputs[0].dims[1];
  for (int64_t i = begin; i < end; i++) {
    const float *x = (const float *)args->inputs[0].data + i * n;
    float *y = (float *)args->outputs[0].data + i * n;
#ifdef ROW_BEFORE
    float divisor = norm(i > 0 ? x - n : x, n);
#else
    float divisor = norm(x, n);
#endif
    for (int64_t j = 0; j < n; j++)
      y[j] = x[j] / divisor;
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0], rows, (void *)args);
}
