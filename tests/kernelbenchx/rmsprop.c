// One step of RMSProp: parameters and the mean of squares.
// assay: task kernelbenchx/Optimizer/RMSProp
// assay: expect pass
// assay: twin NARROW expect wrong_value -- right where squares are below 1, as the task's own are
// assay: twin NOT_BELOW expect wrong_value -- right where squares are above 0.01, as the task's own are
// assay: twin EPS_LARGE expect wrong_value -- an epsilon of 1e-5
// assay: twin EPS_INSIDE expect wrong_value -- epsilon under the root
#include <assay/candidate.h>
#include <math.h>

void assay_kernel(const struct assay_args *args) {
  const float *param = args->inputs[0].data, *grad = args->inputs[1].data, *v = args->inputs[2].data;
  float *new_param = args->outputs[0].data, *new_v = args->outputs[1].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++) {
    float square = new_v[i] = 0.99f * v[i] + 0.01f * (grad[i] * grad[i]), eps = 1e-8f;
#if defined(NARROW)
    square = fminf(square, 1.3f);
#elif defined(NOT_BELOW)
    square = fmaxf(square, 0.0099f);
#elif defined(EPS_LARGE)
    eps = 1e-5f;
#endif
#ifdef EPS_INSIDE
    new_param[i] = param[i] - 0.01f * (grad[i] / sqrtf(square + eps));
#else
    new_param[i] = param[i] - 0.01f * (grad[i] / (sqrtf(square) + eps));
#endif
  }
}
