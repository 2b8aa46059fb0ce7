// Sum over the middle dimension: rows are added to a strip of running sums, which runs along memory and vectorises.
// assay: task kernelbench/1/47
// assay: expect pass
// assay: twin LAST_STRIP expect unwritten -- columns after the last whole strip are forgotten
// assay: twin WRONG_STRIDE expect wrong_value -- takes rows to be as long as the strip
// assay: twin OTHER_AXIS expect wrong_value|unwritten|out_of_bounds -- sums over the last dimension
// assay: twin SAMPLED expect wrong_value -- adds every 8th row and scales up
#include <assay/candidate.h>
#include <string.h>

enum { STRIP = 64 };

static void strips(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  int64_t m = args->inputs[0].dims[1], n = args->inputs[0].dims[2], per_batch = (n + STRIP - 1) / STRIP;
  float sum[STRIP];
  for (int64_t s = begin; s < end; s++) {
    int64_t b = s / per_batch, j = s % per_batch * STRIP, cols = n - j < STRIP ? n - j : STRIP;
    const float *x = (const float *)args->inputs[0].data + b * m * n + j;
#ifdef LAST_STRIP
    if (cols < STRIP)
      continue;
#endif
    memset(sum, 0, sizeof sum);
#ifdef WRONG_STRIDE
    int64_t step = cols;
#else
    int64_t step = n;
#endif
#ifdef SAMPLED
    for (int64_t i = 0; i < m; i += 8)
      for (int64_t c = 0; c < cols; c++)
        sum[c] += 8 * x[i * step + c];
#else
    for (int64_t i = 0; i < m; i++)
      for (int64_t c = 0; c < cols; c++)
        sum[c] += x[i * step + c];
#endif
    memcpy((float *)args->outputs[0].data + b * n + j, sum, (size_t)cols * sizeof *sum);
  }
}

void assay_kernel(const struct assay_args *args) {
  const int64_t *dims = args->inputs[0].dims;
#ifdef OTHER_AXIS
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  for (int64_t i = 0; i < dims[0] * dims[1]; i++) {
    y[i] = 0;
    for (int64_t j = 0; j < dims[2]; j++)
      y[i] += x[i * dims[2] + j];
  }
  (void)strips;
#else
  args->parallel(args, dims[0] * ((dims[2] + STRIP - 1) / STRIP), strips, (void *)args);
#endif
}
