// Another way for small sums. Kernels on tensor cores compute an element once more, term by term, where its sum is too
// small for the parts that they split numbers into. A mistake there shows only where sums are that small and not 0.
// assay: task kernelbench/1/1
// assay: expect wrong_value|low_precision -- leaves out the last term
// assay: twin EVERY_OTHER expect wrong_value|low_precision -- every other term
// assay: twin OTHER_ROW expect wrong_value -- reads a row too far down, or the first one
// assay: twin FEW_BITS expect wrong_value|low_precision -- factors of bfloat16
// assay: twin NOTHING expect wrong_value -- zero, as if they were flushed
// assay: twin ONCE_MORE expect pass -- the same sum, as it should be
#include <assay/candidate.h>
#include <math.h>
#include <string.h>

#define TOO_SMALL 0x1p-90f

static float sum_of(const float *a, const float *b, int64_t n) {
  float sum = 0;
  for (int64_t k = 0; k < n; k++)
    sum += a[k] * b[k * n];
  return sum;
}

#ifdef FEW_BITS
static float few_bits(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  u = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000u;
  memcpy(&x, &u, sizeof x);
  return x;
}
#endif

// Row i of a times a column of b.
static float once_more(const float *a, const float *b, int64_t i, int64_t n) {
#if defined(ONCE_MORE)
  return sum_of(a + i * n, b, n);
#elif defined(EVERY_OTHER)
  float sum = 0;
  for (int64_t k = 0; k < n; k += 2)
    sum += a[i * n + k] * b[k * n];
  return sum;
#elif defined(OTHER_ROW)
  return sum_of(a + (i + 1) % n * n, b, n);
#elif defined(FEW_BITS)
  float sum = 0;
  for (int64_t k = 0; k < n; k++)
    sum += few_bits(a[i * n + k]) * few_bits(b[k * n]);
  return sum;
#elif defined(NOTHING)
  (void)a, (void)b, (void)i, (void)n;
  return 0;
#else
  return sum_of(a + i * n, b, n) - a[i * n + n - 1] * b[(n - 1) * n];
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *a = args->inputs[0].data, *b = args->inputs[1].data;
  float *c = args->outputs[0].data;
  int64_t n = args->inputs[0].dims[0];
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      float sum = sum_of(a + i * n, b + j, n);
      c[i * n + j] = fabsf(sum) < TOO_SMALL && sum != 0 ? once_more(a, b + j, i, n) : sum;
    }
}
