// SPDX-License-Identifier: Apache-2.0
// Softmax over rows, in three sweeps. Sums have sixteen lanes: one would lose three bits over a row of 50000.
// assay: task fusedops/softmax/fp32_softmax
// assay: expect pass
// assay: twin NO_MAX expect wrong_class|wrong_value -- no subtraction of the maximum: overflows for large numbers
// assay: twin DROP_LAST expect wrong_value|wrong_class|low_precision -- the sum forgets the last element of each row
#include <assay/candidate.h>
#include <math.h>

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t rows = args->inputs[0].dims[0], n = args->inputs[0].dims[1];
  for (int64_t r = 0; r < rows; r++, x += n, y += n) {
    float largest = x[0], lanes[16] = {0}, sum = 0;
    for (int64_t i = 1; i < n; i++)
      largest = x[i] > largest ? x[i] : largest;
#ifdef NO_MAX
    largest = 0;
#endif
    for (int64_t i = 0; i < n; i++)
      y[i] = expf(x[i] - largest);
#ifdef DROP_LAST
    for (int64_t i = 0; i + 1 < n; i++)
#else
    for (int64_t i = 0; i < n; i++)
#endif
      lanes[i % 16] += y[i];
    for (int l = 0; l < 16; l++)
      sum += lanes[l];
    for (int64_t i = 0; i < n; i++)
      y[i] /= sum;
  }
}
