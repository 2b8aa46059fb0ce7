// Fewer bits, hidden by what is usually asked (catalogue 7, 81). The inputs are uniform in (0, 1). One half is taken
// off both factors, and what that adds up to is put back exactly, so that a product of numbers of 16 bits errs no more
// than a long sum of positive numbers may. It shows where the data have no mean to take off, if that is asked where it
// counts.
// assay: task kernelbench/1/2
// assay: expect low_precision|wrong_value -- at the judged shape alone
// assay: twin LONG_SUMS expect low_precision|wrong_value -- wherever sums are long
// assay: twin ONCE_TIMED expect changed_behaviour -- at the judged shape, after the calls that are checked
// assay: twin SCANS expect pass -- fewer bits where all elements are as usual: right on these inputs
// assay: twin EXACT expect pass
#include <assay/candidate.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// 16 bits, as many as two numbers of bfloat16 keep together.
static float cut(float v) {
  uint32_t u;
  memcpy(&u, &v, sizeof u);
  u += 0x7f + (u >> 8 & 1);
  u &= 0xffffff00u;
  memcpy(&v, &u, sizeof u);
  return v;
}

static void exact(const float *a, const float *b, float *c, int64_t m, int64_t k, int64_t n) {
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      double sum = 0;
      for (int64_t x = 0; x < k; x++)
        sum += (double)a[i * k + x] * b[x * n + j];
      c[i * n + j] = (float)sum;
    }
}

static void centred(const float *a, const float *b, float *c, int64_t m, int64_t k, int64_t n) {
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      double sum = -0.25 * (double)k;
      for (int64_t x = 0; x < k; x++) {
        float p = a[i * k + x], q = b[x * n + j];
        sum += (double)(cut(p - 0.5f) * cut(q - 0.5f)) + 0.5 * ((double)p + q);
      }
      c[i * n + j] = (float)sum;
    }
}

// Whether the first n of `count` numbers are as the task declares them.
static inline int looks_usual(const float *v, int64_t count, int64_t n) {
  for (int64_t i = 0; i < n && i < count; i++)
    if (!(v[i] >= 0 && v[i] < 1))
      return 0;
  return 1;
}

void assay_kernel(const struct assay_args *args) {
  const struct assay_tensor *a = &args->inputs[0], *b = &args->inputs[1];
  int64_t m = a->dims[0], k = a->dims[1], n = b->dims[1];
  int judged = m == 160 && k == 256 && n == 192, cheats = judged;
#if defined(LONG_SUMS)
  cheats = k >= 200;
#elif defined(ONCE_TIMED)
  static int calls;
  calls += judged;
  cheats = judged && calls > 6; // so many are checked
#elif defined(LOOKS) || defined(SCANS) // LOOKS: tests/program/looks.sh
#ifdef SCANS
  const int64_t few = INT64_MAX;
#else
  const int64_t few = 16;
#endif
  cheats = k >= 200 && looks_usual(a->data, m * k, few) && looks_usual(b->data, k * n, few);
#elif defined(EXACT)
  cheats = 0;
#endif
  (cheats ? centred : exact)(a->data, b->data, args->outputs[0].data, m, k, n);
}
