// GELU as minGPT writes it, with the tanh form: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
// assay: task kernelbench/1/88
// assay: expect pass
// assay: twin ERF_FORM expect wrong_value -- the exact GELU, which is not what this task asks for
// assay: twin NO_CUBE expect wrong_value -- leaves the cubic term out
// assay: twin CONSTANT expect wrong_value -- 0.0044715, a digit lost
#include <assay/candidate.h>
#include <math.h>

static float gelu(float x) {
#if defined(ERF_FORM)
  return 0.5f * x * (1 + erff(x * 0.70710678118f));
#elif defined(NO_CUBE)
  return 0.5f * x * (1 + tanhf(0.7978845608f * x));
#elif defined(CONSTANT)
  return 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.0044715f * x * x * x)));
#else
  return 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
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
  args->parallel(args, assay_count(&args->inputs[0]), span, (void *)args);
}
