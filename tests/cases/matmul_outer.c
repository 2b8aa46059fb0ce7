// Matrix product with a short inner dimension (k is 32 or 64): four rows of the result at a time, so that each row of b
// is read once for all four.
// assay: task kernelbench/1/9
// assay: expect pass
// assay: twin LEFT_ROWS expect unwritten -- forgets the rows after the last whole group of four
// assay: twin REPEATED expect wrong_value -- the fourth row of each group repeats the third
// assay: twin FIXED_K expect wrong_value|out_of_bounds -- takes k = 32 for granted
#include <assay/candidate.h>

enum { ROWS = 4 };

static void group(const float *a, const float *b, float *y, int64_t rows, int64_t k, int64_t n) {
#ifdef FIXED_K
  int64_t terms = 32;
#else
  int64_t terms = k;
#endif
  const float *r[ROWS];
  float *out[ROWS];
  for (int64_t i = 0; i < ROWS; i++) { // rows that do not exist compute an existing one again
    int64_t row = i < rows ? i : rows - 1;
#ifdef REPEATED
    r[i] = a + (row == 3 ? 2 : row) * k;
#else
    r[i] = a + row * k;
#endif
    out[i] = y + row * n;
  }
  for (int64_t j = 0; j < n; j++) {
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int64_t p = 0; p < terms; p++) {
      float v = b[p * n + j];
      s0 += r[0][p] * v, s1 += r[1][p] * v, s2 += r[2][p] * v, s3 += r[3][p] * v;
    }
    out[0][j] = s0, out[1][j] = s1, out[2][j] = s2, out[3][j] = s3;
  }
}

static void groups(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *a = args->inputs[0].data, *b = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t m = args->inputs[0].dims[0], k = args->inputs[0].dims[1], n = args->inputs[1].dims[1];
  for (int64_t g = begin; g < end; g++) {
    int64_t i = g * ROWS, rows = m - i < ROWS ? m - i : ROWS;
#ifdef LEFT_ROWS
    if (rows < ROWS)
      break;
#endif
    group(a + i * k, b, y + i * n, rows, k, n);
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, (args->inputs[0].dims[0] + ROWS - 1) / ROWS, groups, (void *)args);
}
