// Cumulative sum along rows in blocks of 256: sums inside each block start at zero, then the sum of all blocks before
// is added, as parallel scans do. Rounding errors differ from those of a sum in order.
// assay: task kernelbench/1/89
// assay: expect pass
// assay: twin NO_CARRY expect wrong_value -- blocks are not joined: right for rows of up to 256 elements
// assay: twin LAST_CARRY expect wrong_value -- carries only the block just before
// assay: twin LAST_BLOCK expect unwritten -- the block that is not full is left out
#include <assay/candidate.h>

enum { BLOCK = 256 };

static void row(const float *x, float *y, int64_t n) {
  double carry = 0;
  for (int64_t j0 = 0; j0 < n; j0 += BLOCK) {
    int64_t stop = j0 + BLOCK < n ? j0 + BLOCK : n;
#ifdef LAST_BLOCK
    if (stop - j0 < BLOCK)
      break;
#endif
    float sum = 0;
    for (int64_t j = j0; j < stop; j++)
      y[j] = sum += x[j];
    for (int64_t j = j0; j < stop; j++)
      y[j] = (float)(y[j] + carry);
#if defined(LAST_CARRY)
    carry = sum;
#elif !defined(NO_CARRY)
    carry += sum;
#endif
  }
}

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  int64_t n = args->inputs[0].dims[1];
  for (int64_t i = begin; i < end; i++)
    row((const float *)args->inputs[0].data + i * n, (float *)args->outputs[0].data + i * n, n);
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0], rows, (void *)args);
}
