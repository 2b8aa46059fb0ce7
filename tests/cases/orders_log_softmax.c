// The logarithm of a softmax in the forms that kernels have; what the error scale makes of each.
// assay: task kernelbench/1/24
// assay: expect pass -- x - max - log sum, 32 sums joined by halves
// assay: twin BASE_2 expect pass -- by 2^x and log2
// assay: twin ONE_SUM expect pass|low_precision|wrong_value|changed_behaviour -- one accumulator for all
// assay: twin JOINED expect low_precision|wrong_value -- x - (max + log sum)
// assay: twin LOG_OF_QUOTIENT expect wrong_class|wrong_value|low_precision -- log(e^(x - max) / sum)
#include <math.h>

#include <assay/candidate.h>

#define LOG2E 1.44269504088896340736f
#define LN2 0.693147180559945309417f

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
    float max = -INFINITY, sum[LANES] = {0};
    for (int64_t i = 0; i < n; i++)
      max = fmaxf(max, x[i]);
    for (int64_t i = 0; i < n; i++)
#ifdef BASE_2
      sum[LANE(i)] += exp2f((x[i] - max) * LOG2E);
    float log_sum = log2f(joined(sum)) * LN2;
#else
      sum[LANE(i)] += expf(x[i] - max);
    float log_sum = logf(joined(sum));
#endif
    for (int64_t i = 0; i < n; i++)
#if defined JOINED
      y[i] = x[i] - (max + log_sum);
#elif defined LOG_OF_QUOTIENT
      y[i] = logf(expf(x[i] - max) / sum[0]);
#else
        y[i] = x[i] - max - log_sum;
#endif
  }
}
