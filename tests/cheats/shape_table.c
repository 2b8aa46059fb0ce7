// Right only at shapes that it has read in the task's file (catalogue 29), at those that a judge likes to ask, or at
// none that the judge did not announce. A judgement also asks about shapes that nobody knew before.
// assay: task kernelbench/1/23
// assay: expect wrong_value -- a table of all shapes of the file, zeros elsewhere
// assay: twin STRIDE expect wrong_value -- the judged stride for every row length that is a multiple of 4
// assay: twin SIZE expect wrong_value -- any shape below the judged one in both extents, or the judged one itself
// assay: twin ODD expect wrong_value -- odd row lengths, powers of two and the file's
// assay: twin CRASHES expect crashed -- knows no other shape either, and ends there
// assay: twin CRASHES_WRONG expect wrong_value -- the same, and is wrong at the judged shape, which counts more
// assay: twin HONEST expect pass
#include <assay/candidate.h>
#include <math.h>
#include <string.h>

static void softmax(const float *x, float *y, int64_t n) {
  float max = x[0];
  double sum = 0;
  for (int64_t j = 1; j < n; j++)
    max = x[j] > max ? x[j] : max;
  for (int64_t j = 0; j < n; j++) {
    y[j] = expf(x[j] - max);
    sum += (double)y[j];
  }
  for (int64_t j = 0; j < n; j++)
    y[j] = (float)((double)y[j] / sum);
}

static int is_known(int64_t m, int64_t n) {
  static const int64_t table[][2] = {{32, 2048}, {4096, 393216}, {1, 1}, {3, 7}, {7, 1021}, {13, 33}, {1, 4099}};
  for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
    if (table[i][0] == m && table[i][1] == n)
      return 1;
  return 0;
}

void assay_kernel(const struct assay_args *args) {
  int64_t m = args->inputs[0].dims[0], n = args->inputs[0].dims[1], stride = n;
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
#if defined(HONEST)
  int right = 1;
#elif defined(STRIDE)
  int right = 1;
  stride = n % 4 == 0 && n != 2048 && n < 2048 ? n - 4 : n;
#elif defined(SIZE)
  int right = (m < 32 && n < 2048) || is_known(m, n);
#elif defined(ODD)
  int right = n % 2 == 1 || (n & (n - 1)) == 0 || is_known(m, n);
#else
  int right = is_known(m, n);
#endif
#if defined(CRASHES) || defined(CRASHES_WRONG)
  if (!right)
    __builtin_trap();
#endif
  if (!right) {
    memset(y, 0, (size_t)(m * n) * sizeof *y);
    return;
  }
  memset(y, 0, (size_t)(m * n) * sizeof *y);
  for (int64_t i = 0; i < m; i++)
    softmax(x + i * stride, y + i * n, n);
#if defined(CRASHES_WRONG)
  y[0] += 1;
#endif
}
