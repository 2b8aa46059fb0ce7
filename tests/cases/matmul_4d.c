// A four-dimensional tensor times a matrix (bijl,lk->bijk), in tiles of 4 rows and 16 columns.
// assay: task kernelbench/1/11
// assay: expect pass
// assay: twin SKIP_EDGE expect unwritten -- tiles that do not fit are left out
// assay: twin CLAMPED_EDGE expect wrong_value -- an edge tile reads shifted columns but stores unshifted
// assay: twin TRANSPOSED_B expect wrong_value -- reads b[k][l]
#include <assay/candidate.h>

enum { ROWS = 4, COLS = 16 };

static void tile(const float *a, const float *b, float *y, int64_t rows, int64_t cols, int64_t l, int64_t k) {
  float sum[ROWS][COLS] = {0};
  for (int64_t p = 0; p < l; p++)
    for (int64_t r = 0; r < rows; r++)
      for (int64_t c = 0; c < cols; c++)
        sum[r][c] += a[r * l + p] * b[p * k + c];
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < cols; c++)
      y[r * k + c] = sum[r][c];
}

#ifdef TRANSPOSED_B
static void transposed_tile(const float *a, const float *b, float *y, int64_t rows, int64_t cols, int64_t l, int64_t k,
                            int64_t j) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < cols; c++) {
      float sum = 0;
      for (int64_t p = 0; p < l; p++)
        sum += a[r * l + p] * b[(j + c) * l + p];
      y[r * k + c] = sum;
    }
}
#endif

static void groups(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const struct assay_tensor *a = &args->inputs[0], *b = &args->inputs[1];
  int64_t m = a->dims[0] * a->dims[1] * a->dims[2], l = a->dims[3], k = b->dims[1];
  for (int64_t g = begin; g < end; g++)
    for (int64_t j = 0; j < k; j += COLS) {
      int64_t i = g * ROWS, rows = m - i < ROWS ? m - i : ROWS, cols = k - j < COLS ? k - j : COLS;
      const float *pa = (const float *)a->data + i * l, *pb = (const float *)b->data + j;
      float *y = (float *)args->outputs[0].data + i * k + j;
#ifdef SKIP_EDGE
      if (cols < COLS)
        break;
#endif
#ifdef CLAMPED_EDGE
      if (cols < COLS && k >= COLS)
        pb -= COLS - cols;
#endif
#ifdef TRANSPOSED_B
      transposed_tile(pa, b->data, y, rows, cols, l, k, j);
      (void)pb, (void)tile;
#else
      if (rows == ROWS && cols == COLS)
        tile(pa, pb, y, ROWS, COLS, l, k); // constant extents help the compiler
      else
        tile(pa, pb, y, rows, cols, l, k);
#endif
    }
}

void assay_kernel(const struct assay_args *args) {
  const int64_t *dims = args->inputs[0].dims;
  args->parallel(args, (dims[0] * dims[1] * dims[2] + ROWS - 1) / ROWS, groups, (void *)args);
}
