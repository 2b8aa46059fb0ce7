// A copy of a vector with ones at given places.
// assay: task kernelbenchx/Index/index_fill_
// assay: expect pass
// assay: twin COPY expect wrong_value -- fills nothing
// assay: twin FROM_ONE expect wrong_value -- one place further
// assay: twin ADDS expect wrong_value -- adds 1 instead of storing it
// assay: twin FILL_FIRST expect wrong_value -- the copy comes after the ones
#include <assay/candidate.h>
#include <string.h>

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  const int64_t *index = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]), k = assay_count(&args->inputs[1]);
  memcpy(y, x, (size_t)n * sizeof *y);
#ifndef COPY
  for (int64_t i = 0; i < k; i++)
#if defined(FROM_ONE)
    y[(index[i] + 1) % n] = 1;
#elif defined(ADDS)
    y[index[i]] += 1;
#else
    y[index[i]] = 1;
#endif
#endif
#ifdef FILL_FIRST
  memcpy(y, x, (size_t)n * sizeof *y);
#endif
}
