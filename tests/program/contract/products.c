// Products whose factors are rounded, for tests/program/contract.sh: a product of matrices (kernelbench/1/1), a
// convolution (-DCONV, 1/67), a linear layer with what follows it (-DLINEAR, 2/12).
//   -DTF32 -DCUT -DBF16 -DFP16   factors rounded to TF32 (to nearest), cut off to TF32, rounded to bfloat16, to half
//   -DLAST_TERM                  with -DTF32: the last product of every sum is left out
//   -DFP16_SUMS                  with -DTF32: sums are of half precision
#include <assay/candidate.h>
#include <string.h>

static float rounded(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  if ((u & 0x7f800000) == 0x7f800000)
    return x;
#if defined(TF32)
  u = (u + 0xfff + (u >> 13 & 1)) & ~0x1fffu; // to nearest, ties to even
#elif defined(CUT)
  u &= ~0x1fffu;
#elif defined(BF16)
  u = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000;
#endif
  memcpy(&x, &u, sizeof x);
#if defined(FP16)
  x = (float)(_Float16)x;
#endif
  return x;
}

#ifdef FP16_SUMS
typedef _Float16 sum_type;
#else
typedef float sum_type;
#endif

// Of n terms, a factor's elements so far apart.
static float product(const float *a, int64_t a_step, const float *b, int64_t b_step, int64_t n, float start) {
  sum_type sum = (sum_type)start;
#ifdef LAST_TERM
  n -= n > 1;
#endif
  for (int64_t i = 0; i < n; i++)
    sum = (sum_type)(sum + (sum_type)(rounded(a[i * a_step]) * rounded(b[i * b_step])));
  return (float)sum;
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  const int64_t *xd = args->inputs[0].dims, *wd = args->inputs[1].dims, *yd = args->outputs[0].dims;
  float *y = args->outputs[0].data;
  (void)xd;
  (void)wd;
#if defined(CONV)
  for (int64_t n = 0; n < yd[0]; n++)
    for (int64_t o = 0; o < yd[1]; o++)
      for (int64_t l = 0; l < yd[2]; l++) {
        float sum = 0;
        for (int64_t k = 0; k < wd[2]; k++)
          sum = product(x + n * xd[1] * xd[2] + l + k, xd[2], w + o * xd[1] * wd[2] + k, wd[2], xd[1], sum);
        y[(n * yd[1] + o) * yd[2] + l] = sum;
      }
#elif defined(LINEAR)
  const float *bias = args->inputs[2].data;
  for (int64_t i = 0; i < yd[0]; i++)
    for (int64_t j = 0; j < yd[1]; j++) {
      float v = 2 * (product(x + i * xd[1], 1, w + j * xd[1], 1, xd[1], 0) + bias[j]);
      y[i * yd[1] + j] = v < 0 ? 0.1f * v : v;
    }
#else
  for (int64_t i = 0; i < yd[0]; i++)
    for (int64_t j = 0; j < yd[1]; j++)
      y[i * yd[1] + j] = product(x + i * xd[1], 1, w + j, yd[1], xd[1], 0);
#endif
}
