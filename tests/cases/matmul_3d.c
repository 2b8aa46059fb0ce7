// A three-dimensional tensor times a matrix: all but the last dimension of a are rows.
// assay: task kernelbench/1/10
// assay: expect pass
// assay: twin ONE_BATCH expect unwritten -- takes dims[1] for the number of rows
// assay: twin BF16_B expect low_precision -- rounds b to bfloat16
// assay: twin ROW_OFF expect wrong_value -- every row but the first reads the row of a before it
#include <assay/candidate.h>
#include <string.h>

#ifdef BF16_B
static float prepare(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  u = (u + 0x7FFF + (u >> 16 & 1)) & 0xFFFF0000; // to nearest, ties to even
  memcpy(&x, &u, sizeof x);
  return x;
}
#else
static float prepare(float x) {
  return x;
}
#endif

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *a = args->inputs[0].data, *b = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t k = args->inputs[1].dims[0], n = args->inputs[1].dims[1];
  for (int64_t i = begin; i < end; i++) {
#ifdef ROW_OFF
    const float *row = a + (i > 0 ? i - 1 : 0) * k;
#else
    const float *row = a + i * k;
#endif
    float *out = y + i * n;
    memset(out, 0, (size_t)n * sizeof *out);
    for (int64_t p = 0; p < k; p++)
      for (int64_t j = 0; j < n; j++)
        out[j] += row[p] * prepare(b[p * n + j]);
  }
}

void assay_kernel(const struct assay_args *args) {
  const int64_t *dims = args->inputs[0].dims;
#ifdef ONE_BATCH
  int64_t n = dims[1];
#else
  int64_t n = dims[0] * dims[1];
#endif
  args->parallel(args, n, rows, (void *)args);
}
