// Matrix product with a short inner dimension: one row of the result at a time, in strips of 64 columns that stay in
// registers while all k terms are added.
// assay: task kernelbench/1/7
// assay: expect pass
// assay: twin LAST_STRIP expect unwritten -- columns after the last whole strip are forgotten
// assay: twin RESET expect wrong_value -- the accumulator is not cleared between strips
// assay: twin TRANSPOSED_B expect wrong_value|out_of_bounds -- reads b as if its rows had k elements
#include <assay/candidate.h>

enum { STRIP = 64 };

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *a = args->inputs[0].data, *b = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t k = args->inputs[0].dims[1], n = args->inputs[1].dims[1];
#ifdef TRANSPOSED_B
  int64_t step = k;
#else
  int64_t step = n;
#endif
  for (int64_t i = begin; i < end; i++) {
#ifdef RESET
    float sum[STRIP] = {0};
#endif
    int64_t j = 0;
    for (; j + STRIP <= n; j += STRIP) {
#ifndef RESET
      float sum[STRIP] = {0};
#endif
      for (int64_t p = 0; p < k; p++)
        for (int c = 0; c < STRIP; c++)
          sum[c] += a[i * k + p] * b[p * step + j + c];
      for (int c = 0; c < STRIP; c++)
        y[i * n + j + c] = sum[c];
    }
#ifndef LAST_STRIP
    for (; j < n; j++) {
      float sum = 0;
      for (int64_t p = 0; p < k; p++)
        sum += a[i * k + p] * b[p * step + j];
      y[i * n + j] = sum;
    }
#endif
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0], rows, (void *)args);
}
