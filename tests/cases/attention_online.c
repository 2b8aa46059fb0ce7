// Scaled dot-product attention that never holds a row of scores: keys come in tiles of 16, and what was summed before
// is rescaled when a larger score turns up (FlashAttention; Dao et al., 2022).
// assay: task kernelbench/1/97
// assay: expect pass
// assay: twin NO_RESCALE expect wrong_value -- the weighted sum is not rescaled, only the sum of weights
// assay: twin LAST_TILE expect wrong_value|wrong_class -- keys after the last whole tile do not count
// assay: twin UNNORMALISED expect wrong_value -- forgets the division by the sum of weights
// assay: twin SCALE_BY_E expect wrong_value -- divides scores by E instead of its root
#include <assay/candidate.h>
#include <math.h>
#include <string.h>

enum { TILE = 16 };

static float dot(const float *a, const float *b, int64_t n) {
  float part[16] = {0}, sum = 0;
  int64_t whole = n - n % 16;
  for (int64_t i = 0; i < whole; i += 16)
    for (int l = 0; l < 16; l++)
      part[l] += a[i + l] * b[i + l];
  for (int64_t i = whole; i < n; i++)
    sum += a[i] * b[i];
  for (int l = 0; l < 16; l++)
    sum += part[l];
  return sum;
}

static void attend(const float *q, const float *k, const float *v, float *y, int64_t s, int64_t e) {
#ifdef SCALE_BY_E
  float scale = 1 / (float)e;
#else
  float scale = 1 / sqrtf((float)e);
#endif
  float max = -INFINITY, sum = 0;
  memset(y, 0, (size_t)e * sizeof *y);
  for (int64_t j0 = 0; j0 < s; j0 += TILE) {
    int64_t n = s - j0 < TILE ? s - j0 : TILE;
#ifdef LAST_TILE
    if (n < TILE)
      break;
#endif
    float score[TILE], top = max;
    for (int64_t j = 0; j < n; j++) {
      score[j] = dot(q, k + (j0 + j) * e, e) * scale;
      top = score[j] > top ? score[j] : top;
    }
    float rescale = expf(max - top); // 0 for the first tile
    max = top;
    sum *= rescale;
#ifndef NO_RESCALE
    for (int64_t c = 0; c < e; c++)
      y[c] *= rescale;
#endif
    for (int64_t j = 0; j < n; j++) {
      float weight = expf(score[j] - max);
      sum += weight;
      for (int64_t c = 0; c < e; c++)
        y[c] += weight * v[(j0 + j) * e + c];
    }
  }
#ifdef UNNORMALISED
  sum = 1;
#endif
  for (int64_t c = 0; c < e; c++)
    y[c] /= sum;
}

static void queries(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *q = args->inputs[0].data, *k = args->inputs[1].data, *v = args->inputs[2].data;
  float *y = args->outputs[0].data;
  int64_t s = args->inputs[0].dims[2], e = args->inputs[0].dims[3];
  for (int64_t i = begin; i < end; i++) {
    int64_t head = i / s * s * e;
    attend(q + i * e, k + head, v + head, y + i * e, s, e);
  }
}

void assay_kernel(const struct assay_args *args) {
  const int64_t *dims = args->inputs[0].dims;
  args->parallel(args, dims[0] * dims[1] * dims[2], queries, (void *)args);
}
