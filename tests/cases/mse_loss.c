// Mean squared error. Blocks are summed in double precision, on all threads.
// assay: task kernelbench/1/94
// assay: expect pass
// assay: twin SUM expect wrong_value -- forgets the division
// assay: twin SAMPLED expect wrong_value -- the mean over every 8th element
// assay: twin ROOT expect wrong_value -- the root mean square
// assay: twin LAZY expect changed_behaviour -- stops working after 40 calls and repeats its last answer
// assay: twin FINGERPRINT expect wrong_value -- repeats its last answer while shape and first element look alike
// assay: twin FP16_DIFFERENCE expect low_precision|wrong_value|wrong_class -- differences in half precision
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>

enum { BLOCK = 1 << 14 };

struct work {
  const float *p, *t;
  int64_t n;
  double *sums;
};

static float difference(float p, float t) {
#ifdef FP16_DIFFERENCE
  int e;
  frexpf(p - t, &e);
  e = e < -13 ? -13 : e;
  return e > 16 ? INFINITY : ldexpf(rintf(ldexpf(p - t, 11 - e)), e - 11);
#else
  return p - t;
#endif
}

static void blocks(void *arg, int64_t begin, int64_t end) {
  struct work *w = arg;
#ifdef SAMPLED
  const int64_t step = 8;
#else
  const int64_t step = 1;
#endif
  for (int64_t b = begin; b < end; b++) {
    int64_t stop = (b + 1) * BLOCK < w->n ? (b + 1) * BLOCK : w->n;
    double sum = 0;
    for (int64_t i = b * BLOCK; i < stop; i += step) {
      double d = difference(w->p[i], w->t[i]);
      sum += d * d * (double)step;
    }
    w->sums[b] = sum;
  }
}

void assay_kernel(const struct assay_args *args) {
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]), n_blocks = (n + BLOCK - 1) / BLOCK;
  struct work w = {args->inputs[0].data, args->inputs[1].data, n, NULL};
#if defined(LAZY)
  static float last;
  static int calls;
  if (++calls > 40) {
    *y = last;
    return;
  }
#elif defined(FINGERPRINT)
  static float last;
  static int64_t seen;
  int64_t now = fabsf(w.p[0]) < 1000 ? n : -n;
  if (now == seen) {
    *y = last;
    return;
  }
#endif
  w.sums = malloc((size_t)n_blocks * sizeof *w.sums);
  args->parallel(args, n_blocks, blocks, &w);
  double sum = 0;
  for (int64_t b = 0; b < n_blocks; b++)
    sum += w.sums[b];
  free(w.sums);
#if defined(SUM)
  *y = (float)sum;
#elif defined(ROOT)
  *y = (float)sqrt(sum / (double)n);
#else
  *y = (float)(sum / (double)n);
#endif
#if defined(LAZY)
  last = *y;
#elif defined(FINGERPRINT)
  last = *y, seen = now;
#endif
}
