// Cumulative sum along rows in log2(n) sweeps (Hillis and Steele, 1986): after sweep k every element holds the sum of
// the 2^k elements that end there. More work than in order, but every sweep vectorises.
// assay: task kernelbench/1/89
// assay: expect pass
// assay: twin ONE_SWEEP_SHORT expect wrong_value -- the last sweep is left out
// assay: twin IN_PLACE expect wrong_value -- sweeps forwards in place, so that new values are added again
#include <assay/candidate.h>
#include <string.h>

static void row(const float *x, float *y, int64_t n) {
  memcpy(y, x, (size_t)n * sizeof *y);
  for (int64_t step = 1; step < n; step *= 2) {
#ifdef ONE_SWEEP_SHORT
    if (step * 2 >= n)
      break;
#endif
#ifdef IN_PLACE
    for (int64_t j = step; j < n; j++)
#else
    for (int64_t j = n - 1; j >= step; j--)
#endif
      y[j] += y[j - step];
  }
}

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  int64_t n = args->inputs[0].dims[1];
  for (int64_t i = begin; i < end; i++)
    row((const float *)args->inputs[0].data + i * n, (float *)args->outputs[0].data + i * n, n);
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0], rows, (void *)args);
}
