// A product of int8 matrices with a scale for each row and each column.
// assay: task kernelbenchx/Quantization/matmul_w8a8
// assay: expect pass
// assay: twin DEQUANTIZED expect low_precision|wrong_value -- multiplies in fp32 what the integers stand for
// assay: twin SIXTEEN expect wrong_value -- sums in 16 bits
// assay: twin NEIGHBOUR expect wrong_value -- the scale of the next row
// assay: twin BY_COLUMNS expect pass -- the columns' scales before the rows'
// assay: twin ONE_SCALE expect wrong_value -- the largest scale of all rows for each
// assay: twin ZERO_POINT expect wrong_value -- integers around 1
// assay: twin ELEVEN_BITS expect low_precision|wrong_value -- scales with 11 bits
// assay: twin FOUR_BITS expect wrong_value -- the integers' low four bits rounded away
#include <assay/candidate.h>
#include <math.h>

static float scale_of(const float *scales, int64_t i, int64_t n) {
#if defined ONE_SCALE
  float most = 0;
  for (int64_t k = 0; k < n; k++)
    most = fmaxf(most, scales[k]);
  return most;
#elif defined ELEVEN_BITS
  int e;
  frexpf(scales[i], &e);
  return ldexpf(rintf(ldexpf(scales[i], 11 - e)), e - 11);
#else
  return scales[i];
#endif
}

#ifdef ZERO_POINT
enum { ZERO = 1 };
#else
enum { ZERO = 0 };
#endif

void assay_kernel(const struct assay_args *args) {
  const int8_t *x = args->inputs[0].data, *w = args->inputs[2].data;
  const float *rows = args->inputs[1].data, *columns = args->inputs[3].data;
  float *y = args->outputs[0].data;
  int64_t m = args->inputs[0].dims[0], k = args->inputs[0].dims[1], n = args->inputs[2].dims[1];
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
#if defined(DEQUANTIZED)
      float sum = 0;
      for (int64_t t = 0; t < k; t++)
        sum += ((float)x[i * k + t] * rows[i]) * ((float)w[t * n + j] * columns[j]);
      y[i * n + j] = sum;
#else
#ifdef SIXTEEN
      int16_t sum = 0;
#else
      int32_t sum = 0;
#endif
      for (int64_t t = 0; t < k; t++)
#ifdef FOUR_BITS
        sum += ((x[i * k + t] + 8) / 16 * 16) * w[t * n + j];
#else
        sum += x[i * k + t] * (w[t * n + j] - ZERO);
#endif
#ifdef NEIGHBOUR
      y[i * n + j] = (float)sum * rows[(i + 1) % m] * columns[j];
#else
#ifdef BY_COLUMNS
      y[i * n + j] = (float)sum * columns[j] * rows[i];
#else
      y[i * n + j] = (float)sum * scale_of(rows, i, m) * columns[j];
#endif
#endif
#endif
    }
}
