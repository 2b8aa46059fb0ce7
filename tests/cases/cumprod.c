// Cumulative product along rows, in double precision.
// assay: task kernelbench/1/90
// assay: expect pass
// assay: twin SUM expect wrong_value -- adds instead
// assay: twin EXCLUSIVE expect wrong_value -- y[j] leaves x[j] itself out
// assay: twin BF16_PRODUCT expect low_precision|wrong_value -- the running product in bfloat16
// assay: twin THROUGH_LOG expect wrong_class|wrong_value|low_precision -- exp of the sum of logarithms
// assay: twin ZERO_TAIL expect wrong_value -- zeros after 64 columns, where products from [0, 1) have vanished
#include <assay/candidate.h>
#include <math.h>
#include <string.h>

static double partial(double x) {
#ifdef BF16_PRODUCT
  float f = (float)x;
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  u = (u + 0x7FFF + (u >> 16 & 1)) & 0xFFFF0000; // to nearest, ties to even
  memcpy(&f, &u, sizeof f);
  return f;
#else
  return x;
#endif
}

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  int64_t n = args->inputs[0].dims[1];
  for (int64_t i = begin; i < end; i++) {
    const float *x = (const float *)args->inputs[0].data + i * n;
    float *y = (float *)args->outputs[0].data + i * n;
#if defined(THROUGH_LOG)
    float sum = 0;
    for (int64_t j = 0; j < n; j++)
      y[j] = expf(sum = (float)partial(sum + logf(x[j])));
#else
    double product = 1;
    for (int64_t j = 0; j < n; j++) {
#if defined(EXCLUSIVE)
      y[j] = (float)product;
      product = partial(product * x[j]);
#elif defined(SUM)
      product = partial(product + x[j]);
      y[j] = (float)(product - 1);
#else
      product = partial(product * x[j]);
      y[j] = (float)product;
#endif
    }
#endif
#ifdef ZERO_TAIL
    for (int64_t j = 64; j < n; j++)
      y[j] = 0;
#endif
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0], rows, (void *)args);
}
