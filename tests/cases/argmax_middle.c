// Index of the maximum over the middle dimension; the first one where several are equal.
// assay: task kernelbench/1/51
// assay: expect pass
// assay: twin LAST_ONE expect wrong_value -- the last of several equal maxima
// assay: twin INT32 expect unwritten|wrong_value -- stores 32-bit indices into the 64-bit output
// assay: twin FLAT expect wrong_value -- the offset inside the batch instead of the index
// assay: twin INDEX8 expect wrong_value -- counts rows in 7 bits, as 32 bits wrap on bigger tensors
// assay: twin BF16_COMPARE expect wrong_value -- compares values rounded to bfloat16
#include <assay/candidate.h>
#include <string.h>

static float key(float x) {
#ifdef BF16_COMPARE
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  u = (u + 0x7FFF + (u >> 16 & 1)) & 0xFFFF0000; // to nearest, ties to even
  memcpy(&x, &u, sizeof x);
#endif
  return x;
}

static int better(float v, float best) {
#ifdef LAST_ONE
  return v >= best;
#else
  return v > best;
#endif
}

static void columns(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data;
#ifdef INT32
  int32_t *y = args->outputs[0].data;
#else
  int64_t *y = args->outputs[0].data;
#endif
  int64_t m = args->inputs[0].dims[1], n = args->inputs[0].dims[2];
  for (int64_t c = begin; c < end; c++) {
    const float *column = x + c / n * m * n + c % n;
    int64_t best = 0;
    for (int64_t i = 1; i < m; i++)
      if (better(key(column[i * n]), key(column[best * n])))
        best = i;
#ifdef FLAT
    best = best * n + c % n;
#endif
#ifdef INDEX8
    best &= 127;
#endif
#ifdef INT32
    y[c] = (int32_t)best;
#else
    y[c] = best;
#endif
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0] * args->inputs[0].dims[2], columns, (void *)args);
}
