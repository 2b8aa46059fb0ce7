// Minimum over the middle dimension.
// assay: task kernelbench/1/53
// assay: expect pass
// assay: twin ZEROS expect wrong_value -- 0, close to the minimum of many numbers from [0, 1)
// assay: twin MAX expect wrong_value -- the maximum
// assay: twin FLT_MIN_START expect wrong_value -- starts at FLT_MIN, which is not the lowest but the smallest positive
#include <assay/candidate.h>
#include <float.h>

static void batches(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  int64_t m = args->inputs[0].dims[1], n = args->inputs[0].dims[2];
  for (int64_t b = begin; b < end; b++) {
    const float *x = (const float *)args->inputs[0].data + b * m * n;
    float *y = (float *)args->outputs[0].data + b * n;
    for (int64_t j = 0; j < n; j++)
#ifdef FLT_MIN_START
      y[j] = FLT_MIN;
#else
      y[j] = x[j];
#endif
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        float v = x[i * n + j];
#ifdef MAX
        y[j] = v > y[j] ? v : y[j];
#else
        y[j] = v < y[j] || v != v ? v : y[j]; // a NaN stays
#endif
      }
#ifdef ZEROS
    for (int64_t j = 0; j < n; j++)
      y[j] = 0;
#endif
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0], batches, (void *)args);
}
