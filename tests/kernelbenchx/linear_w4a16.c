// A linear layer of fp16 rows with weights of four bits, the first of a pair in the low bits of its byte.
// assay: task kernelbenchx/Quantization/linear_w4a16
// assay: expect pass
// assay: twin SWAPPED expect wrong_value -- the first of a pair from the high bits
// assay: twin UNSIGNED expect wrong_value -- 0 to 15, where -8 to 7 is meant
// assay: twin HALF_SUMS expect low_precision|wrong_value -- every partial sum in fp16
#include <assay/candidate.h>

static float weight_of(uint8_t byte, int second) {
#ifdef SWAPPED
  second = !second;
#endif
  int bits = second ? byte >> 4 : byte & 15;
#ifdef UNSIGNED
  return (float)bits;
#else
  return (float)((bits ^ 8) - 8);
#endif
}

void assay_kernel(const struct assay_args *args) {
  const _Float16 *x = args->inputs[0].data, *scale = args->inputs[2].data, *bias = args->inputs[3].data;
  const uint8_t *w = args->inputs[1].data;
  _Float16 *y = args->outputs[0].data;
  int64_t m = args->inputs[0].dims[0], k = args->inputs[0].dims[1], n = args->inputs[1].dims[0];
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
#ifdef HALF_SUMS
      _Float16 sum = 0;
#else
      float sum = 0;
#endif
      for (int64_t t = 0; t < k; t++)
        sum += (float)x[i * k + t] * weight_of(w[j * (k / 2) + t / 2], t % 2);
      y[i * n + j] = (_Float16)((float)sum * (float)scale[j] + (float)bias[j]);
    }
}
