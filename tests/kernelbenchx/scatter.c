// Rows of numbers put where indices say, column by column.
// assay: task kernelbenchx/Index/scatter
// assay: expect pass
// assay: twin COPY expect wrong_value -- the input as it came
// assay: twin ADDS expect wrong_value -- adds what should replace
// assay: twin ROWS expect wrong_value -- all columns go where the first one does
#include <assay/candidate.h>
#include <string.h>

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data, *src = args->inputs[2].data;
  const int64_t *index = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t rows = args->inputs[1].dims[0], columns = args->inputs[1].dims[1];
  memcpy(y, x, (size_t)assay_count(&args->inputs[0]) * sizeof *y);
#ifndef COPY
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) {
#ifdef ROWS
      float *to = &y[index[i * columns] * columns + j];
#else
      float *to = &y[index[i * columns + j] * columns + j];
#endif
#ifdef ADDS
      *to += src[i * columns + j];
#else
      *to = src[i * columns + j];
#endif
    }
#endif
}
