// Softmax over rows: maximum, sum of exponentials, division; one sweep over the row each.
// assay: task kernelbench/1/23
// assay: expect pass
// assay: twin NO_MAX expect wrong_class|wrong_value -- no subtraction of the maximum: overflows for large logits
// assay: twin DROP_LAST expect wrong_value|low_precision -- the sum forgets the last element of each row
// assay: twin UNNORMALISED expect wrong_value -- forgets the division
// assay: twin OTHER_AXIS expect wrong_value -- normalises columns instead of rows
// assay: twin UNIFORM expect wrong_value -- 1/n everywhere, which an absolute tolerance cannot tell from the answer
// assay: twin ONE_ROW_SHORT expect unwritten -- the last row is left out
#include <assay/candidate.h>
#include <math.h>

// One row of n elements that lie `step` apart.
static void softmax(const float *x, float *y, int64_t n, int64_t step) {
  float max = x[0];
  for (int64_t j = 1; j < n; j++)
    max = x[j * step] > max ? x[j * step] : max;
#ifdef NO_MAX
  max = 0;
#endif
  double sum = 0; // rows may be hundreds of thousands of elements long
  for (int64_t j = 0; j < n; j++) {
    y[j * step] = expf(x[j * step] - max);
#ifdef DROP_LAST
    if (j < n - 1 || n == 1)
#endif
      sum += y[j * step];
  }
#ifdef UNNORMALISED
  sum = 1;
#endif
#ifdef UNIFORM
  for (int64_t j = 0; j < n; j++)
    y[j * step] = 1, sum = (double)n;
#endif
  float inverse = (float)(1 / sum);
  for (int64_t j = 0; j < n; j++)
    y[j * step] *= inverse;
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t rows = args->inputs[0].dims[0], cols = args->inputs[0].dims[1];
#if defined(OTHER_AXIS)
  for (int64_t j = 0; j < cols; j++)
    softmax(x + j, y + j, rows, cols);
#else
#ifdef ONE_ROW_SHORT
  rows--;
#endif
  for (int64_t i = 0; i < rows; i++)
    softmax(x + i * cols, y + i * cols, cols, 1);
#endif
}
