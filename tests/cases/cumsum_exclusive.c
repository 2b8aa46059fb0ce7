// Exclusive cumulative sum along rows: y[j] = x[0] + ... + x[j - 1], so that y[0] = 0.
// assay: task kernelbench/1/92
// assay: expect pass
// assay: twin INCLUSIVE expect wrong_value -- x[j] counts too
// assay: twin NO_ZERO expect unwritten -- does not write the zero in front
// assay: twin SHIFT_TWICE expect wrong_value -- one element late
#include <assay/candidate.h>

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  int64_t n = args->inputs[0].dims[1];
  for (int64_t i = begin; i < end; i++) {
    const float *x = (const float *)args->inputs[0].data + i * n;
    float *y = (float *)args->outputs[0].data + i * n;
    float sum = 0;
#if defined(INCLUSIVE)
    for (int64_t j = 0; j < n; j++)
      y[j] = sum += x[j];
#else
#ifndef NO_ZERO
    y[0] = 0;
#endif
    for (int64_t j = 1; j < n; j++) {
#ifdef SHIFT_TWICE
      sum += j > 1 ? x[j - 2] : 0;
#else
      sum += x[j - 1];
#endif
      y[j] = sum;
    }
#endif
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0], rows, (void *)args);
}
