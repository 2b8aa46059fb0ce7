// Products of a batch of matrix pairs; (batch, row) pairs in parallel.
// assay: task kernelbench/1/3
// assay: expect pass
// assay: twin FIRST_B expect wrong_value -- multiplies every matrix with the first b
// assay: twin FIRST_BATCH expect unwritten -- computes only the first of the batch
// assay: twin STALE_BATCH expect wrong_value -- the last of the batch repeats the one before
#include <assay/candidate.h>

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *a = args->inputs[0].data, *b = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t batches = args->inputs[0].dims[0], m = args->inputs[0].dims[1], k = args->inputs[0].dims[2];
  int64_t n = args->inputs[1].dims[2];
  (void)batches;
  for (int64_t i = begin; i < end; i++) {
    int64_t batch = i / m;
    const float *row = a + i * k;
#if defined(FIRST_B)
    batch = 0;
#elif defined(STALE_BATCH)
    if (batch == batches - 1 && batch > 0)
      batch--, row -= m * k;
#endif
    const float *matrix = b + batch * k * n;
    float *out = y + i * n;
    for (int64_t j = 0; j < n; j++)
      out[j] = 0;
    for (int64_t p = 0; p < k; p++)
      for (int64_t j = 0; j < n; j++)
        out[j] += row[p] * matrix[p * n + j];
  }
}

void assay_kernel(const struct assay_args *args) {
  int64_t n = args->inputs[0].dims[0] * args->inputs[0].dims[1];
#ifdef FIRST_BATCH
  n = args->inputs[0].dims[1];
#endif
  args->parallel(args, n, rows, (void *)args);
}
