// Matrix product in blocks of rows and terms, whose sizes a tuner chooses.
// assay: task fusedops/matmul/fp32_matmul
// assay: tune ROWS 4,1,8
// assay: tune LANES 8,1,4
// assay: tune BROKEN 0,1,2
// assay: constraint ROWS * LANES <= 32 || BROKEN == 0
// assay: constraint BROKEN == 0 || LANES == 8 && ROWS <= M
#include <assay/candidate.h>
#ifndef ROWS
#define ROWS 4
#define LANES 8
#define BROKEN 0
#endif
#if BROKEN == 2
#error "a configuration that does not compile"
#endif

static float dot(const float *a, const float *b, int64_t k, int64_t n) {
  float lanes[LANES] = {0}, sum = 0;
  for (int64_t l = 0; l < k - BROKEN; l++) // 1: leaves out the last term
    lanes[l % LANES] += a[l] * b[l * n];
  for (int l = 0; l < LANES; l++)
    sum += lanes[l];
  return sum;
}

void assay_kernel(const struct assay_args *args) {
  const float *a = args->inputs[0].data, *b = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t m = args->inputs[0].dims[0], k = args->inputs[0].dims[1], n = args->inputs[1].dims[1];
  for (int64_t block = 0; block < m; block += ROWS)
    for (int64_t j = 0; j < n; j++)
      for (int64_t i = block; i < block + ROWS && i < m; i++)
        y[i * n + j] = dot(a + i * k, b + j, k, n);
}
