// Average pooling: window 8, stride 1, padding 4. Padding counts as zeros (PyTorch's count_include_pad).
// assay: task kernelbench/1/44
// assay: expect pass
// assay: twin EXCLUDE_PADDING expect wrong_value -- divides by the number of elements inside
// assay: twin LONG_WINDOW expect wrong_value -- nine taps
// assay: twin SUM expect wrong_value -- forgets the division
// assay: twin EDGE_PADDING expect wrong_value -- repeats the first and last element instead of padding with zeros
#include <assay/candidate.h>

#ifdef LONG_WINDOW
#define WINDOW 9
#else
#define WINDOW 8
#endif
#define PADDING 4

static void row(const float *x, float *y, int64_t l, int64_t ol) {
  for (int64_t o = 0; o < ol; o++) {
    int64_t first = o - PADDING, stop = first + WINDOW;
    first = first < 0 ? 0 : first;
    stop = stop > l ? l : stop;
    float sum = 0;
    for (int64_t i = first; i < stop; i++)
      sum += x[i];
#ifdef EDGE_PADDING
    sum += (float)(first - (o - PADDING)) * x[0] + (float)(o - PADDING + WINDOW - stop) * x[l - 1];
#endif
#if defined(EXCLUDE_PADDING)
    y[o] = sum / (float)(stop - first);
#elif defined(SUM)
    y[o] = sum;
#else
    y[o] = sum / WINDOW;
#endif
  }
}

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  int64_t l = args->inputs[0].dims[2], ol = args->outputs[0].dims[2];
  for (int64_t r = begin; r < end; r++)
    row((const float *)args->inputs[0].data + r * l, (float *)args->outputs[0].data + r * ol, l, ol);
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0] * args->inputs[0].dims[1], rows, (void *)args);
}
