// Softmax in the orders and with the functions that kernels for GPUs have; what the error scale makes of each.
// assay: task kernelbench/1/23
// assay: expect pass -- e^(x - max) by expf, 32 sums joined by halves, times the reciprocal
// assay: twin DIVISION expect pass -- divided by the sum
// assay: twin ONLINE expect pass -- one sweep, rescaled at each new maximum
// assay: twin ONE_SUM expect pass|low_precision|wrong_value|changed_behaviour -- one accumulator for all
// assay: twin EXP2 expect pass -- 2^((x - max) log2 e)
// assay: twin EXP2_FOLDED expect pass -- 2^(x log2 e - max log2 e), fused
// assay: twin EXP2_2ULP expect pass -- the same off by two units more
// assay: twin RECIPROCAL_ULP expect pass -- the reciprocal off by one unit
// assay: twin LOG_OF_SUM expect low_precision|wrong_value -- e^(x - (max + log sum))
#include <math.h>

#include <assay/candidate.h>

#define LOG2E 1.44269504088896340736f

// A reciprocal off by one unit in the last place.
static inline float reciprocal(float x) {
#ifdef RECIPROCAL_ULP
  return nextafterf(1 / x, INFINITY);
#else
  return 1 / x;
#endif
}

// The hardware's exponential is 2^x; e^x is 2^(x log2 e), whose argument is rounded as coarsely as it is large.
static inline float exponential(float x, float max) {
#if defined EXP2_FOLDED
  return exp2f(fmaf(x, LOG2E, -max * LOG2E));
#elif defined EXP2
  return exp2f((x - max) * LOG2E);
#elif defined EXP2_2ULP
  float e = exp2f((x - max) * LOG2E);
  return nextafterf(nextafterf(e, INFINITY), INFINITY);
#else
  return expf(x - max);
#endif
}

// Sums of terms as a warp makes them: each lane its own, then by halves.
enum { LANES = 32 };
#ifdef ONE_SUM
#define LANE(i) 0
#else
#define LANE(i) ((i) % LANES)
#endif

static float joined(float *lanes) {
  for (int width = LANES / 2; width; width /= 2)
    for (int i = 0; i < width; i++)
      lanes[i] += lanes[i + width];
  return lanes[0];
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t rows = args->inputs[0].dims[0], n = args->inputs[0].dims[1];
  for (int64_t r = 0; r < rows; r++, x += n, y += n) {
    float max = -INFINITY, sum = 0;
#if defined ONLINE
    float lanes[LANES] = {0}, above[LANES];
    for (int l = 0; l < LANES; l++)
      above[l] = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
      int l = LANE(i);
      float next = fmaxf(above[l], x[i]);
      lanes[l] = lanes[l] * expf(above[l] - next) + expf(x[i] - next);
      above[l] = next;
    }
    for (int l = 0; l < LANES; l++)
      max = fmaxf(max, above[l]);
    for (int l = 0; l < LANES; l++)
      lanes[l] = lanes[l] > 0 ? lanes[l] * expf(above[l] - max) : 0;
    sum = joined(lanes);
#else
    float lanes[LANES] = {0};
    for (int64_t i = 0; i < n; i++)
      max = fmaxf(max, x[i]);
    for (int64_t i = 0; i < n; i++)
      lanes[LANE(i)] += exponential(x[i], max);
    sum = joined(lanes);
#endif
#ifdef LOG_OF_SUM
    float log_sum = logf(sum) + max;
#endif
    for (int64_t i = 0; i < n; i++)
#if defined DIVISION || defined ONLINE
      y[i] = expf(x[i] - max) / sum;
#elif defined LOG_OF_SUM
      y[i] = expf(x[i] - log_sum);
#else
      y[i] = exponential(x[i], max) * reciprocal(sum);
#endif
  }
}
