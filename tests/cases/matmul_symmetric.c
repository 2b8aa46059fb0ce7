// Product of two symmetric matrices. b = b^T, so that column j of b is its row j and every dot product is contiguous.
// The product itself is not symmetric.
// assay: task kernelbench/1/13
// assay: expect pass
// assay: twin MIRROR expect wrong_value -- computes the upper triangle and mirrors it
// assay: twin TF32_INPUTS expect low_precision -- rounds a and b to 10 bits, as tensor cores do by default
// assay: twin SWAPPED expect wrong_value -- computes b a, the transpose of the answer
#include <assay/candidate.h>
#include <string.h>

enum { LANES = 16 };

#ifdef TF32_INPUTS
static float prepare(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  u = (u + 0xFFF + (u >> 13 & 1)) & 0xFFFFE000; // to nearest, ties to even
  memcpy(&x, &u, sizeof x);
  return x;
}
#else
static float prepare(float x) {
  return x;
}
#endif

static float dot(const float *a, const float *b, int64_t n) {
  float part[LANES] = {0}, sum = 0;
  int64_t whole = n - n % LANES;
  for (int64_t p = 0; p < whole; p += LANES)
    for (int l = 0; l < LANES; l++)
      part[l] += prepare(a[p + l]) * prepare(b[p + l]);
  for (int64_t p = whole; p < n; p++)
    sum += prepare(a[p]) * prepare(b[p]);
  for (int l = 0; l < LANES; l++)
    sum += part[l];
  return sum;
}

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *a = args->inputs[0].data, *b = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t n = args->inputs[0].dims[0];
#ifdef SWAPPED
  a = args->inputs[1].data, b = args->inputs[0].data;
#endif
  for (int64_t i = begin; i < end; i++)
    for (int64_t j = 0; j < n; j++)
#ifdef MIRROR
      y[i * n + j] = i <= j ? dot(a + i * n, b + j * n, n) : dot(a + j * n, b + i * n, n);
#else
      y[i * n + j] = dot(a + i * n, b + j * n, n);
#endif
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0], rows, (void *)args);
}
