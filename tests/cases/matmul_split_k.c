// Matrix product with very long dot products: each is summed in blocks of 256 terms, and the blocks in double
// precision, so that rounding errors do not pile up. Works on the transpose of b, a panel of 8 columns at a time.
// assay: task kernelbench/1/6
// assay: expect pass
// assay: twin LAST_BLOCK expect wrong_value -- forgets the terms after the last whole block
// assay: twin SAMPLED expect wrong_value -- reads an eighth of the terms and scales up
// assay: twin FP16_SUM expect low_precision|wrong_value -- sums in half precision
// assay: twin CONSTANT expect wrong_value -- k / 4, the expected value for inputs from [0, 1)
// assay: twin BF16_A expect low_precision -- rounds a to bfloat16
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256, LANES = 16, PANEL = 8 };

#ifdef BF16_A
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

#ifdef FP16_SUM
// x rounded to 11 significant bits, or to half precision's subnormal grid of 2^-24; beyond 65504 it is infinite.
static float partial(float x) {
  int e;
  frexpf(x, &e);
  e = e < -13 ? -13 : e;
  return e > 16 ? copysignf(INFINITY, x) : ldexpf(rintf(ldexpf(x, 11 - e)), e - 11);
}
#else
static float partial(float x) {
  return x;
}
#endif

// The sum of at most BLOCK products, in LANES partial sums.
static float dot_block(const float *a, const float *b, int64_t n) {
  float part[LANES] = {0}, sum = 0;
  int64_t whole = n - n % LANES;
  for (int64_t p = 0; p < whole; p += LANES)
    for (int l = 0; l < LANES; l++)
      part[l] = partial(part[l] + prepare(a[p + l]) * b[p + l]);
  for (int64_t p = whole; p < n; p++)
    sum = partial(sum + prepare(a[p]) * b[p]);
  for (int l = 0; l < LANES; l++)
    sum = partial(sum + part[l]);
  return sum;
}

static float dot(const float *a, const float *b, int64_t n) {
  double sum = 0;
#ifdef SAMPLED
  for (int64_t p = 0; p < n; p += BLOCK)
    sum += 8 * dot_block(a + p, b + p, n - p < BLOCK / 8 ? n - p : BLOCK / 8);
#else
  for (int64_t p = 0; p + BLOCK <= n; p += BLOCK)
    sum += dot_block(a + p, b + p, BLOCK);
#ifndef LAST_BLOCK
  sum += dot_block(a + n - n % BLOCK, b + n - n % BLOCK, n % BLOCK);
#endif
#endif
#ifdef CONSTANT
  sum = (double)n / 4;
#endif
  return (float)sum;
}

static void panels(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *a = args->inputs[0].data, *b = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t m = args->inputs[0].dims[0], k = args->inputs[0].dims[1], n = args->inputs[1].dims[1];
  float *bt = malloc((size_t)(PANEL * k) * sizeof *bt);
  for (int64_t j0 = begin * PANEL; j0 < end * PANEL && j0 < n; j0 += PANEL) {
    int64_t cols = n - j0 < PANEL ? n - j0 : PANEL;
    for (int64_t p = 0; p < k; p++)
      for (int64_t c = 0; c < cols; c++)
        bt[c * k + p] = b[p * n + j0 + c];
    for (int64_t i = 0; i < m; i++)
      for (int64_t c = 0; c < cols; c++)
        y[i * n + j0 + c] = dot(a + i * k, bt + c * k, k);
  }
  free(bt);
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, (args->inputs[1].dims[1] + PANEL - 1) / PANEL, panels, (void *)args);
}
