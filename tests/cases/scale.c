// A matrix times the constant 3.14, on all threads.
// assay: task kernelbench/1/5
// assay: expect pass
// assay: twin INDEX16 expect unwritten -- counts elements in 16 bits, which wrap as 32 bits do on bigger tensors
// assay: twin PI expect wrong_value -- 3.14159 is a better pi and a wrong answer
// assay: twin IDENTITY expect wrong_value -- forgets the factor
// assay: twin FP16 expect low_precision -- rounds the input to half precision
#include <assay/candidate.h>
#include <math.h>

#ifdef PI
#define FACTOR 3.14159265f
#elif defined(IDENTITY)
#define FACTOR 1.0f
#else
#define FACTOR 3.14f
#endif

#ifdef FP16
// x rounded to 11 significant bits, or to half precision's subnormal grid of 2^-24.
static float prepare(float x) {
  int e;
  frexpf(x, &e);
  e = e < -13 ? -13 : e;
  return ldexpf(rintf(ldexpf(x, 11 - e)), e - 11);
}
#else
static float prepare(float x) {
  return x;
}
#endif

static void span(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  for (int64_t i = begin; i < end; i++)
    y[i] = prepare(x[i]) * FACTOR;
}

void assay_kernel(const struct assay_args *args) {
  int64_t n = assay_count(&args->inputs[0]);
#ifdef INDEX16
  n = (uint16_t)n;
#endif
  args->parallel(args, n, span, (void *)args);
}
