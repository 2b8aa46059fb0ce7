// Cumulative sum along rows, in order.
// assay: task kernelbench/1/89
// assay: expect pass
// assay: twin EXCLUSIVE expect wrong_value -- y[j] leaves x[j] itself out
// assay: twin ALONG_COLUMNS expect wrong_value -- sums along the other dimension
// assay: twin BF16_SUM expect low_precision|wrong_value -- the running sum in bfloat16, which soon stops growing
// assay: twin NOT_RESET expect wrong_value -- the sum goes on from one row to the next
// assay: twin TOTAL expect wrong_value -- every element is the sum of its row
#include <assay/candidate.h>
#include <string.h>

static float partial(float x) {
#ifdef BF16_SUM
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  u = (u + 0x7FFF + (u >> 16 & 1)) & 0xFFFF0000; // to nearest, ties to even
  memcpy(&x, &u, sizeof x);
#endif
  return x;
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t rows = args->inputs[0].dims[0], cols = args->inputs[0].dims[1], step = 1, next = cols;
#ifdef ALONG_COLUMNS
  rows = args->inputs[0].dims[1], cols = args->inputs[0].dims[0], step = rows, next = 1;
#endif
  float sum = 0;
  for (int64_t i = 0; i < rows; i++) {
#ifndef NOT_RESET
    sum = 0;
#endif
    for (int64_t j = 0; j < cols; j++) {
      int64_t at = i * next + j * step;
#ifdef EXCLUSIVE
      y[at] = sum;
      sum = partial(sum + x[at]);
#else
      sum = partial(sum + x[at]);
      y[at] = sum;
#endif
    }
#ifdef TOTAL
    for (int64_t j = 0; j < cols; j++)
      y[i * next + j * step] = sum;
#endif
  }
}
