// The third step of AdamW: parameters and both moments, each an output.
// assay: task kernelbenchx/Optimizer/AdamW
// assay: expect pass
// assay: twin NO_STEP expect wrong_value -- the parameters as they were
// assay: twin NO_DECAY expect wrong_value -- without the weights' decay, one part in 100 000
// assay: twin FIRST_STEP expect wrong_value -- the corrections of the first step
// assay: twin OLD_MOMENTS expect wrong_value -- steps along the moments before the update
// assay: twin EPS_INSIDE expect wrong_value -- epsilon under the root
// assay: twin EPS_LARGE expect wrong_value -- an epsilon of 1e-6, which shows where squares are zero only
// assay: twin NARROW expect wrong_value -- right where squares are below 1, as the task's own are
// assay: twin MOMENTS_ALONE expect unwritten -- leaves the parameters
#include <assay/candidate.h>
#include <math.h>

void assay_kernel(const struct assay_args *args) {
  const float *param = args->inputs[0].data, *grad = args->inputs[1].data;
  const float *m = args->inputs[2].data, *v = args->inputs[3].data;
  float *new_param = args->outputs[0].data, *new_m = args->outputs[1].data, *new_v = args->outputs[2].data;
  int64_t n = assay_count(&args->inputs[0]);
#ifdef FIRST_STEP
  float step = 0.001f / (1 - 0.9f), root = 0.0316227766f;
#else
  float step = 0.00369003690f, root = 0.0547448719f; // 0.001 / (1 - 0.9^3), sqrt(1 - 0.999^3)
#endif
  float decay = 1 - 1e-5f;
#ifdef NO_DECAY
  decay = 1;
#endif
  for (int64_t i = 0; i < n; i++) {
    new_m[i] = 0.9f * m[i] + 0.1f * grad[i];
    new_v[i] = 0.999f * v[i] + 0.001f * grad[i] * grad[i];
    float mean = new_m[i], square = new_v[i];
#ifdef OLD_MOMENTS
    mean = m[i], square = v[i];
#endif
#ifdef NARROW
    square = fminf(square, 1.01f);
#endif
#ifdef EPS_LARGE
    float divisor = sqrtf(square) / root + 1e-6f;
#elif defined(EPS_INSIDE)
    float divisor = sqrtf(square + 1e-3f) / root;
#else
    float divisor = sqrtf(square) / root + 1e-8f;
#endif
#ifdef NO_STEP
    new_param[i] = param[i] + 0 * (step * mean / divisor * decay);
#elif !defined(MOMENTS_ALONE)
    new_param[i] = param[i] * decay - step * mean / divisor;
#else
    (void)(step * mean / divisor * decay), (void)new_param, (void)param;
#endif
  }
}
