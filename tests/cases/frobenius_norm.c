// x divided by the Frobenius norm of the whole tensor. Threads sum blocks of fixed size, so that the result does not
// depend on how many threads there are.
// assay: task kernelbench/1/37
// assay: expect pass
// assay: twin PER_IMAGE expect wrong_value -- every image has its own norm
// assay: twin LAST_BLOCK expect wrong_value|wrong_class -- the block that is not full does not count
// assay: twin NO_ROOT expect wrong_value -- divides by the sum of squares
// assay: twin L1 expect wrong_value -- the sum of absolute values
// assay: twin ZEROS expect wrong_value -- what an absolute tolerance of 1e-4 cannot tell from the answer at full size
// assay: twin CACHED_NORM expect wrong_value -- keeps the norm of the first call of each size
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>

enum { BLOCK = 1 << 14 };

struct work {
  const float *x;
  float *y;
  int64_t n;
  double *sums, norm;
};

static void sum_blocks(void *arg, int64_t begin, int64_t end) {
  struct work *w = arg;
  for (int64_t b = begin; b < end; b++) {
    int64_t stop = (b + 1) * BLOCK < w->n ? (b + 1) * BLOCK : w->n;
    double sum = 0;
    for (int64_t i = b * BLOCK; i < stop; i++)
#ifdef L1
      sum += fabs(w->x[i]);
#else
      sum += (double)w->x[i] * w->x[i];
#endif
    w->sums[b] = sum;
  }
}

static void divide(void *arg, int64_t begin, int64_t end) {
  const struct work *w = arg;
  for (int64_t i = begin; i < end; i++)
    w->y[i] = (float)(w->x[i] / w->norm);
#ifdef ZEROS
  for (int64_t i = begin; i < end; i++)
    w->y[i] = 0;
#endif
}

static void normalise(const struct assay_args *args, const float *x, float *y, int64_t n) {
  int64_t blocks = (n + BLOCK - 1) / BLOCK;
  struct work w = {x, y, n, malloc((size_t)blocks * sizeof(double)), 0};
  args->parallel(args, blocks, sum_blocks, &w);
#ifdef LAST_BLOCK
  blocks = n / BLOCK;
#endif
  for (int64_t b = 0; b < blocks; b++)
    w.norm += w.sums[b];
#if !defined(NO_ROOT) && !defined(L1)
  w.norm = sqrt(w.norm);
#endif
#ifdef CACHED_NORM
  static double kept;
  static int64_t kept_n;
  if (kept_n == n)
    w.norm = kept;
  kept = w.norm, kept_n = n;
#endif
  args->parallel(args, n, divide, &w);
  free(w.sums);
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
#ifdef PER_IMAGE
  int64_t images = args->inputs[0].dims[0];
  for (int64_t i = 0; i < images; i++)
    normalise(args, x + i * (n / images), y + i * (n / images), n / images);
#else
  normalise(args, x, y, n);
#endif
}
