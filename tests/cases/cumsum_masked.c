// Cumulative sum along rows of the elements that a mask selects; masks are bytes, 0 or 1.
// assay: task kernelbench/1/93
// assay: expect pass
// assay: twin NO_MASK expect wrong_value -- all elements count
// assay: twin INVERTED expect wrong_value -- the elements that the mask does not select
// assay: twin MASKED_RESULT expect wrong_value -- masks the sums too
// assay: twin MASK_OF_ROW_0 expect wrong_value -- every row uses the first row's mask
#include <assay/candidate.h>

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  int64_t n = args->inputs[0].dims[1];
  for (int64_t i = begin; i < end; i++) {
    const float *x = (const float *)args->inputs[0].data + i * n;
    float *y = (float *)args->outputs[0].data + i * n;
#ifdef MASK_OF_ROW_0
    const uint8_t *mask = args->inputs[1].data;
#else
    const uint8_t *mask = (const uint8_t *)args->inputs[1].data + i * n;
#endif
    float sum = 0;
    for (int64_t j = 0; j < n; j++) {
#if defined(NO_MASK)
      int on = mask[j] <= 1;
#elif defined(INVERTED)
      int on = !mask[j];
#else
      int on = mask[j];
#endif
      sum += on ? x[j] : 0;
#ifdef MASKED_RESULT
      y[j] = on ? sum : 0;
#else
      y[j] = sum;
#endif
    }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0], rows, (void *)args);
}
