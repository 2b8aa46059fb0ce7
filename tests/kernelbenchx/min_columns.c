// Minimum of each column and the index of the first: two outputs.
// assay: task kernelbenchx/Reduce/min
// assay: expect pass
// assay: twin LAST_ONE expect wrong_value -- the last of several equal minima
// assay: twin VALUES_ONLY expect unwritten -- leaves the indices
// assay: twin ZEROS expect wrong_value -- 0 for every index
// assay: twin MAXIMUM expect wrong_value -- the other extreme
#include <assay/candidate.h>

static int better(float v, float best) {
#if defined(LAST_ONE)
  return v <= best;
#elif defined(MAXIMUM)
  return v > best;
#else
  return v < best;
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *values = args->outputs[0].data;
  int64_t *indices = args->outputs[1].data;
  int64_t rows = args->inputs[0].dims[0], cols = args->inputs[0].dims[1];
  for (int64_t j = 0; j < cols; j++) {
    int64_t at = 0;
    for (int64_t i = 1; i < rows; i++)
      at = better(x[i * cols + j], x[at * cols + j]) ? i : at;
    values[j] = x[at * cols + j];
#ifndef VALUES_ONLY
#ifdef ZEROS
    at = 0;
#endif
    indices[j] = at;
#endif
  }
}
