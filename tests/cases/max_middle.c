// Maximum over the middle dimension.
// assay: task kernelbench/1/49
// assay: expect pass
// assay: twin STARTS_AT_0 expect wrong_value -- the running maximum starts at 0: wrong where all elements are negative
// assay: twin SKIPS_LAST expect wrong_value -- forgets the last row
// assay: twin MAGNITUDE expect wrong_value -- the largest |x|
// assay: twin CONSTANT expect wrong_value -- 1, close to the maximum of many numbers from [0, 1)
#include <assay/candidate.h>
#include <math.h>

static void batches(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  int64_t m = args->inputs[0].dims[1], n = args->inputs[0].dims[2];
#ifdef SKIPS_LAST
  int64_t rows = m > 1 ? m - 1 : m;
#else
  int64_t rows = m;
#endif
  for (int64_t b = begin; b < end; b++) {
    const float *x = (const float *)args->inputs[0].data + b * m * n;
    float *y = (float *)args->outputs[0].data + b * n;
    for (int64_t j = 0; j < n; j++)
#ifdef STARTS_AT_0
      y[j] = 0;
#else
      y[j] = x[j];
#endif
    for (int64_t i = 0; i < rows; i++)
      for (int64_t j = 0; j < n; j++) {
        float v = x[i * n + j];
#ifdef MAGNITUDE
        v = fabsf(v);
#endif
        y[j] = v > y[j] || v != v ? v : y[j]; // a NaN stays
      }
#ifdef CONSTANT
    for (int64_t j = 0; j < n; j++)
      y[j] = 1;
#endif
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0], batches, (void *)args);
}
