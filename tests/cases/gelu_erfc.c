// GELU through the complementary error function, which does not cancel for negative x. More accurate than erf, and
// as right: honest kernels need not agree bit for bit.
// assay: task kernelbench/1/26
// assay: expect pass
// assay: twin WRONG_SIGN expect wrong_value -- erfc(x / sqrt 2): the mirror image
// assay: twin ERF_NEAR_ZERO expect wrong_value -- a truncated Taylor series of erf, clamped
// assay: twin TILE_LEFT expect unwritten -- only whole tiles of 64 elements are computed
#include <assay/candidate.h>
#include <math.h>

static float gelu(float x) {
#if defined(WRONG_SIGN)
  return 0.5f * x * erfcf(x * 0.70710678118f);
#elif defined(ERF_NEAR_ZERO)
  float z = fmaxf(fminf(x * 0.70710678118f, 1.5f), -1.5f), s = z * z;
  return 0.5f * x * (1 + fmaxf(fminf(1.1283791671f * z * (1 - s * (1.0f / 3 - s * (0.1f - s / 42))), 1), -1));
#else
  return 0.5f * x * erfcf(x * -0.70710678118f);
#endif
}

static void span(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  for (int64_t i = begin; i < end; i++)
    y[i] = gelu(x[i]);
}

void assay_kernel(const struct assay_args *args) {
  int64_t n = assay_count(&args->inputs[0]);
#ifdef TILE_LEFT
  n = n / 64 * 64;
#endif
  args->parallel(args, n, span, (void *)args);
}
