// Scaled dot-product attention, one query at a time: scores, softmax, weighted sum of v.
// assay: task kernelbench/1/97
// assay: expect pass
// assay: twin NO_SCALE expect wrong_value -- scores are not divided by sqrt(E)
// assay: twin NO_MAX expect wrong_class|wrong_value -- softmax without subtraction of the maximum
// assay: twin CAUSAL expect wrong_value -- hides the keys after the query
// assay: twin MEAN_OF_V expect wrong_value -- all weights 1/S, which is close for scores that are almost equal
// assay: twin WRONG_HEAD expect wrong_value -- every head uses the keys of head 0
// assay: twin BF16_WEIGHTS expect low_precision -- rounds the softmax to bfloat16
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static float weight_of(float e) {
#ifdef BF16_WEIGHTS
  uint32_t u;
  memcpy(&u, &e, sizeof u);
  u = (u + 0x7FFF + (u >> 16 & 1)) & 0xFFFF0000; // to nearest, ties to even
  memcpy(&e, &u, sizeof e);
#endif
  return e;
}

// weights: room for s numbers.
static void attend(const float *q, const float *k, const float *v, float *y, int64_t s, int64_t e, int64_t position,
                   float *weights) {
#ifdef NO_SCALE
  float scale = 1;
#else
  float scale = sqrtf((float)e);
#endif
#ifdef CAUSAL
  s = position + 1;
#else
  (void)position;
#endif
  float max = -INFINITY, sum = 0;
  for (int64_t j = 0; j < s; j++) {
    float score = 0;
    for (int64_t c = 0; c < e; c++)
      score += q[c] * k[j * e + c];
    weights[j] = score / scale;
    max = weights[j] > max ? weights[j] : max;
  }
#ifdef NO_MAX
  max = 0;
#endif
  for (int64_t j = 0; j < s; j++) {
#ifdef MEAN_OF_V
    weights[j] = max;
#endif
    weights[j] = weight_of(expf(weights[j] - max));
    sum += weights[j];
  }
  memset(y, 0, (size_t)e * sizeof *y);
  for (int64_t j = 0; j < s; j++)
    for (int64_t c = 0; c < e; c++)
      y[c] += weights[j] / sum * v[j * e + c];
}

static void queries(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *q = args->inputs[0].data, *k = args->inputs[1].data, *v = args->inputs[2].data;
  float *y = args->outputs[0].data;
  int64_t s = args->inputs[0].dims[2], e = args->inputs[0].dims[3];
  float *weights = malloc((size_t)s * sizeof *weights);
  for (int64_t i = begin; i < end; i++) {
    int64_t head = i / s * s * e;
#ifdef WRONG_HEAD
    attend(q + i * e, k, v + head, y + i * e, s, e, i % s, weights);
#else
    attend(q + i * e, k + head, v + head, y + i * e, s, e, i % s, weights);
#endif
  }
  free(weights);
}

void assay_kernel(const struct assay_args *args) {
  const int64_t *dims = args->inputs[0].dims;
  args->parallel(args, dims[0] * dims[1] * dims[2], queries, (void *)args);
}
