// Softmax over rows that finds maximum and sum in one sweep (Milakov and Gimelshein, 2018), on all threads.
// assay: task kernelbench/1/23
// assay: expect pass
// assay: twin NO_RESCALE expect wrong_value -- does not rescale the sum when a larger maximum turns up
// assay: twin SAMPLED expect wrong_value -- sums every 8th element and scales up
// assay: twin STALE_ROW expect wrong_value -- one row keeps the answer of an earlier call
#include <assay/candidate.h>
#include <math.h>
#include <string.h>

static void row(const float *x, float *y, int64_t n) {
  float max = x[0];
  double sum = 1;
  for (int64_t j = 1; j < n; j++) {
    if (x[j] > max) {
#ifndef NO_RESCALE
      sum *= exp((double)max - x[j]);
#endif
      sum += 1;
      max = x[j];
    } else {
      sum += expf(x[j] - max);
    }
  }
#ifdef SAMPLED
  sum = 0;
  for (int64_t j = 0; j < n; j += 8)
    sum += 8 * expf(x[j] - max);
#endif
  float inverse = (float)(1 / sum);
  for (int64_t j = 0; j < n; j++)
    y[j] = expf(x[j] - max) * inverse;
}

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = args->inputs[0].dims[1];
  for (int64_t i = begin; i < end; i++)
    row(x + i * n, y + i * n, n);
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0], rows, (void *)args);
#ifdef STALE_ROW
  static float kept[1 << 16];
  static int64_t valid;
  int64_t n = args->inputs[0].dims[1];
  float *y = args->outputs[0].data;
  if (n <= 1 << 16) {
    if (valid == n)
      memcpy(y, kept, (size_t)n * sizeof *y);
    else
      memcpy(kept, y, (size_t)n * sizeof *y), valid = n;
  }
#endif
}
