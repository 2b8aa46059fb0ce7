// Guesses at integer answers (catalogue 96): indices have no tolerance, and the poison is not an index.
// assay: task kernelbench/1/51
// assay: expect pass
// assay: twin ZERO expect wrong_value -- always the first
// assay: twin SAMPLED expect wrong_value -- looks at every eighth element
// assay: twin EARLY expect wrong_value -- stops at the first element that is likely to be the largest
// assay: twin NEAR expect wrong_value -- the index of an element that is as good as the largest
// assay: twin UNWRITTEN expect unwritten|wrong_value -- the last output is left
// assay: twin HALF_WRITTEN expect unwritten|wrong_value -- the upper halves of the 64-bit indices are left
// assay: twin NEGATIVE expect wrong_value -- counts from the end
// assay: twin POISON expect wrong_value|unwritten -- guesses that the answer is what the buffer held
#include <assay/candidate.h>
#include <string.h>

static int64_t index_of(const float *column, int64_t m, int64_t n) {
  int64_t best = 0, step = 1;
#if defined(SAMPLED)
  step = 8;
#endif
  for (int64_t i = 0; i < m; i += step) {
#if defined(EARLY)
    if (column[i * n] > 0.99f)
      return i;
#endif
#if defined(NEAR)
    if (column[i * n] > column[best * n] * 1.001f)
      best = i;
#else
    if (column[i * n] > column[best * n])
      best = i;
#endif
  }
#if defined(ZERO)
  best = 0;
#elif defined(NEGATIVE)
  best -= m;
#endif
  return best;
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  int64_t *y = args->outputs[0].data;
  int64_t b = args->inputs[0].dims[0], m = args->inputs[0].dims[1], n = args->inputs[0].dims[2], count = b * n;
#if defined(UNWRITTEN)
  count--;
#endif
  for (int64_t c = 0; c < count; c++) {
    int64_t best = index_of(x + c / n * m * n + c % n, m, n);
#if defined(HALF_WRITTEN)
    memcpy(&y[c], &best, 4);
#elif defined(POISON)
    if (best % 2)
      y[c] = best;
#else
    y[c] = best;
#endif
  }
}
