// A diagonal matrix (given as a vector) times a matrix: row i scaled by d[i]. No product of matrices is needed.
// assay: task kernelbench/1/12
// assay: expect pass
// assay: twin SCALES_COLUMNS expect wrong_value|out_of_bounds -- scales column j by d[j]
// assay: twin FIRST_ONLY expect wrong_value -- scales every row by d[0]
// assay: twin IDENTITY expect wrong_value -- copies the matrix
#include <assay/candidate.h>

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *d = args->inputs[0].data, *b = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t m = args->inputs[1].dims[1];
  for (int64_t i = begin; i < end; i++) {
    for (int64_t j = 0; j < m; j++) {
#if defined(SCALES_COLUMNS)
      float factor = d[j];
#elif defined(FIRST_ONLY)
      float factor = d[0];
#elif defined(IDENTITY)
      float factor = d[0] == d[0];
#else
      float factor = d[i];
#endif
      y[i * m + j] = factor * b[i * m + j];
    }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[1].dims[0], rows, (void *)args);
}
