// SPDX-License-Identifier: Apache-2.0
// A product for every expert in bf16, row by row; sums are in single precision.
// assay: task fusedops/grouped_gemm/bf16_routed_gemm
// assay: expect pass
// assay: twin FIRST_EXPERT expect wrong_value -- every row gets the first one's weights
// assay: twin EVEN expect wrong_value -- as if all experts had the same number of rows
// assay: twin LATE expect wrong_value -- a group begins a row too late
// assay: twin NO_EMPTY expect wrong_value -- takes no group for empty
// assay: twin HALF_SUMS expect wrong_value|low_precision -- sums in bf16
#include <assay/candidate.h>
#include <string.h>

static float wide(uint16_t x) {
  uint32_t bits = (uint32_t)x << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

// To nearest, ties to even. NaN stays NaN.
static uint16_t narrow(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void assay_kernel(const struct assay_args *args) {
  const uint16_t *x = args->inputs[0].data, *w = args->inputs[1].data;
  const int32_t *ends = args->inputs[2].data;
  uint16_t *y = args->outputs[0].data;
  const int64_t rows = args->inputs[0].dims[0], k = args->inputs[0].dims[1];
  const int64_t experts = args->inputs[1].dims[0], n = args->inputs[1].dims[2];
  int64_t e = 0;
  for (int64_t t = 0; t < rows; t++) {
#if defined(EVEN)
    e = t * experts / rows;
#elif defined(LATE)
    while (e + 1 < experts && t > ends[e])
      e++;
#elif defined(NO_EMPTY)
    if (e + 1 < experts && t >= ends[e])
      e++;
#elif !defined(FIRST_EXPERT)
    while (e + 1 < experts && t >= ends[e])
      e++;
#endif
    for (int64_t j = 0; j < n; j++) {
      float sum = 0;
      for (int64_t l = 0; l < k; l++) {
        sum += wide(x[t * k + l]) * wide(w[(e * k + l) * n + j]);
#ifdef HALF_SUMS
        sum = wide(narrow(sum));
#endif
      }
      y[t * n + j] = narrow(sum);
    }
  }
}
