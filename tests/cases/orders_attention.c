// Attention in the orders that kernels have; what the error scale makes of each.
// assay: task kernelbench/1/97
// assay: expect pass -- softmax of q k / sqrt E by expf, divided at the end
// assay: twin EXP2 expect pass -- base 2, log2 e in the scale
// assay: twin SCALED_QUERY expect pass -- the scale in the query
// assay: twin NORMALISED_FIRST expect pass -- weights divided first
// assay: twin ONLINE expect pass -- tiles of 16 keys, rescaled, base 2
#include <math.h>
#include <string.h>

#include <assay/candidate.h>

#define LOG2E 1.44269504088896340736f
enum { MOST = 4096, TILE = 16 };

static float dot(const float *a, const float *b, int64_t n, float scale) {
  float sum = 0;
  for (int64_t i = 0; i < n; i++)
    sum += a[i] * scale * b[i];
  return sum;
}

// One query. The scale of scores is folded into the query where SCALED_QUERY, into base 2 where EXP2.
static void query(const float *q, const float *k, const float *v, float *y, int64_t s, int64_t e) {
  float root = sqrtf((float)e), sum = 0;
#if defined ONLINE
  float max = -INFINITY;
  memset(y, 0, (size_t)e * sizeof *y);
  for (int64_t j = 0; j < s; j += TILE) {
    int64_t end = j + TILE < s ? j + TILE : s;
    float score[TILE], above = max, part = 0;
    for (int64_t t = j; t < end; t++)
      above = fmaxf(above, score[t - j] = dot(q, k + t * e, e, 1) * (LOG2E / root));
    float shrink = exp2f(max - above);
    for (int64_t i = 0; i < e; i++)
      y[i] *= shrink;
    for (int64_t t = j; t < end; t++) {
      float p = exp2f(score[t - j] - above);
      part += p;
      for (int64_t i = 0; i < e; i++)
        y[i] += p * v[t * e + i];
    }
    sum = sum * shrink + part;
    max = above;
  }
  for (int64_t i = 0; i < e; i++)
    y[i] /= sum;
#else
  float score[MOST], max = -INFINITY;
  for (int64_t t = 0; t < s; t++) {
#if defined SCALED_QUERY
    score[t] = dot(q, k + t * e, e, 1 / root);
#elif defined EXP2
    score[t] = dot(q, k + t * e, e, 1) * (LOG2E / root);
#else
    score[t] = dot(q, k + t * e, e, 1) / root;
#endif
    max = fmaxf(max, score[t]);
  }
  for (int64_t t = 0; t < s; t++) {
#ifdef EXP2
    score[t] = exp2f(score[t] - max);
#else
    score[t] = expf(score[t] - max);
#endif
    sum += score[t];
  }
  memset(y, 0, (size_t)e * sizeof *y);
  for (int64_t t = 0; t < s; t++)
    for (int64_t i = 0; i < e; i++)
#ifdef NORMALISED_FIRST
      y[i] += score[t] / sum * v[t * e + i];
  (void)root;
#else
      y[i] += score[t] * v[t * e + i];
  for (int64_t i = 0; i < e; i++)
    y[i] /= sum;
#endif
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *q = args->inputs[0].data, *k = args->inputs[1].data, *v = args->inputs[2].data;
  float *y = args->outputs[0].data;
  const int64_t *dims = args->inputs[0].dims;
  int64_t s = dims[2], e = dims[3];
  for (int64_t head = 0; head < dims[0] * dims[1]; head++)
    for (int64_t t = 0; t < s; t++)
      query(q + (head * s + t) * e, k + head * s * e, v + head * s * e, y + (head * s + t) * e, s, e);
}
