// Index of the minimum over the middle dimension; the first one where several are equal. Runs along rows, with the
// best values and indices of a strip of columns at hand.
// assay: task kernelbench/1/52
// assay: expect pass
// assay: twin LAST_ONE expect wrong_value -- the last of several equal minima
// assay: twin ARGMAX expect wrong_value -- the index of the maximum
// assay: twin STALE_BEST expect wrong_value -- the best value is not updated: finds the last element below the first
// assay: twin FROM_ONE expect wrong_value -- counts from 1
#include <assay/candidate.h>

enum { STRIP = 256 };

static int better(float v, float best) {
#if defined(LAST_ONE)
  return v <= best;
#elif defined(ARGMAX)
  return v > best;
#else
  return v < best;
#endif
}

static void strip(const float *x, int64_t *y, int64_t m, int64_t n, int64_t cols) {
  float best[STRIP];
  int64_t index[STRIP] = {0};
  for (int64_t c = 0; c < cols; c++)
    best[c] = x[c];
  for (int64_t i = 1; i < m; i++)
    for (int64_t c = 0; c < cols; c++) {
      float v = x[i * n + c];
      int is = better(v, best[c]);
      index[c] = is ? i : index[c];
#ifndef STALE_BEST
      best[c] = is ? v : best[c];
#endif
    }
  for (int64_t c = 0; c < cols; c++)
#ifdef FROM_ONE
    y[c] = index[c] + 1;
#else
    y[c] = index[c];
#endif
}

static void batches(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  int64_t m = args->inputs[0].dims[1], n = args->inputs[0].dims[2];
  for (int64_t b = begin; b < end; b++)
    for (int64_t j = 0; j < n; j += STRIP)
      strip((const float *)args->inputs[0].data + b * m * n + j, (int64_t *)args->outputs[0].data + b * n + j, m, n,
            n - j < STRIP ? n - j : STRIP);
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0], batches, (void *)args);
}
