// Hinge loss: mean of max(1 - p t, 0), where the targets (+1 or -1) belong to columns.
// assay: task kernelbench/1/100
// assay: expect pass
// assay: twin NO_HINGE expect wrong_value -- the clamp left out, which is right where it never fires
// assay: twin TARGETS_BY_ROW expect wrong_value|out_of_bounds|wrong_class -- targets belong to rows
// assay: twin SQUARED expect wrong_value -- the squared hinge
// assay: twin CONSTANT expect wrong_value -- 1
#include <assay/candidate.h>

void assay_kernel(const struct assay_args *args) {
  const float *p = args->inputs[0].data, *t = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t rows = args->inputs[0].dims[0], cols = args->inputs[0].dims[1];
  double sum = 0;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++) {
#ifdef TARGETS_BY_ROW
      float slack = 1 - p[i * cols + j] * t[i];
#else
      float slack = 1 - p[i * cols + j] * t[j];
#endif
#ifndef NO_HINGE
      slack = slack < 0 ? 0 : slack;
#endif
#ifdef SQUARED
      slack *= slack;
#endif
      sum += slack;
    }
#ifdef CONSTANT
  sum = (double)(rows * cols);
#endif
  *y = (float)(sum / (double)(rows * cols));
}
