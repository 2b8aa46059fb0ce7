// Triplet margin loss: mean of max(|a - p| - |a - n| + 1, 0) with Euclidean distances; 1e-6 is added to every
// difference, as PyTorch does.
// assay: task kernelbench/1/99
// assay: expect pass
// assay: twin SWAPPED expect wrong_value -- positive and negative examples mixed up
// assay: twin NO_HINGE expect wrong_value -- negative terms count too
// assay: twin SQUARED expect wrong_value -- squared distances
// assay: twin CONSTANT expect wrong_value -- 1, close to the answer for inputs that are all alike
// assay: twin LAST_ROW expect wrong_value -- the last sample does not count
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>

#define MARGIN 1.0
#define EPSILON 1e-6

static double distance(const float *a, const float *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    double d = (double)a[i] - b[i] + EPSILON;
    sum += d * d;
  }
#ifdef SQUARED
  return sum;
#else
  return sqrt(sum);
#endif
}

struct work {
  const struct assay_args *args;
  double *losses;
};

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct work *w = arg;
  const struct assay_tensor *in = w->args->inputs;
  const float *anchor = in[0].data, *positive = in[1].data, *negative = in[2].data;
#ifdef SWAPPED
  positive = in[2].data, negative = in[1].data;
#endif
  int64_t n = in[0].dims[1];
  for (int64_t i = begin; i < end; i++) {
    double loss =
        distance(anchor + i * n, positive + i * n, n) - distance(anchor + i * n, negative + i * n, n) + MARGIN;
#ifndef NO_HINGE
    loss = loss < 0 ? 0 : loss;
#endif
    w->losses[i] = loss;
  }
}

void assay_kernel(const struct assay_args *args) {
  float *y = args->outputs[0].data;
  int64_t n = args->inputs[0].dims[0];
  struct work w = {args, malloc((size_t)n * sizeof(double))};
  args->parallel(args, n, rows, &w);
  double sum = 0;
#ifdef LAST_ROW
  for (int64_t i = 0; i < n - 1; i++)
#else
  for (int64_t i = 0; i < n; i++)
#endif
    sum += w.losses[i];
  free(w.losses);
#ifdef CONSTANT
  sum = (double)n;
#endif
  *y = (float)(sum / (double)n);
}
