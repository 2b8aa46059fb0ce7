// Average pooling: window 11 x 11, stride 11, no padding. Rows of the image are added to a row of sums.
// assay: task kernelbench/1/45
// assay: expect pass
// assay: twin TOP_LEFT expect wrong_value -- takes the window's first element for its mean
// assay: twin OFF_BY_ONE expect wrong_value -- the window is 11 x 10
// assay: twin WIDTH_ONLY expect wrong_value -- divides by 11 instead of 121
// assay: twin FP16_SUM expect low_precision|wrong_value -- sums in half precision
#include <assay/candidate.h>
#include <math.h>

#define WINDOW 11
#ifdef OFF_BY_ONE
#define TAPS 10
#else
#define TAPS 11
#endif
#if defined(TOP_LEFT)
#define COUNT 1
#elif defined(WIDTH_ONLY)
#define COUNT 11
#else
#define COUNT 121
#endif

static float partial(float x) {
#ifdef FP16_SUM
  int e;
  frexpf(x, &e);
  e = e < -13 ? -13 : e;
  return e > 16 ? copysignf(INFINITY, x) : ldexpf(rintf(ldexpf(x, 11 - e)), e - 11); // 11 significant bits
#else
  return x;
#endif
}

static void planes(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  for (int64_t p = begin; p < end; p++) {
    const float *x = (const float *)args->inputs[0].data + p * in[2] * in[3];
    float *y = (float *)args->outputs[0].data + p * out[2] * out[3];
    for (int64_t h = 0; h < out[2]; h++)
      for (int64_t w = 0; w < out[3]; w++) {
        const float *corner = x + h * WINDOW * in[3] + w * WINDOW;
        float sum = 0;
        for (int64_t i = 0; i < WINDOW; i++) {
          float line = 0;
          for (int64_t j = 0; j < TAPS; j++)
            line = partial(line + corner[i * in[3] + j]);
          sum = partial(sum + line);
        }
#ifdef TOP_LEFT
        sum = corner[0];
#endif
        y[h * out[3] + w] = sum / COUNT;
      }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0] * args->inputs[0].dims[1], planes, (void *)args);
}
