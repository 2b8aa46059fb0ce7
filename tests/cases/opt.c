// OPT in single precision, a sequence at a time: 24 blocks of 32 heads, each normalised before its two parts.
// assay: task kernelbench/4/2
// assay: expect pass
// assay: twin BLOCK_LEFT_OUT expect wrong_value -- 23 blocks
// assay: twin FROM_ROW_0 expect wrong_value -- positions begin with the first row of their table
// assay: twin SCALED_TWICE expect wrong_value -- scores are divided by the size of a head
// assay: twin NO_LAST_NORM expect wrong_value -- the last normalisation is left out
// assay: twin EPSILON_4096TH expect wrong_value|low_precision -- epsilon off by 2^-12: shows where embeddings are small
#include <assay/candidate.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef EPSILON_4096TH
#define EPSILON 1.000244140625e-5
#else
#define EPSILON 1e-5
#endif

enum { HEADS = 32, BLOCK = 16, SKIPPED_ROWS = 2 };

struct rows {
  float *at;
  int64_t n, width;
};

// What w[0] (a row for each output) and the bias w[1] make of x; to be freed.
static struct rows linear(struct rows x, const struct assay_tensor *w) {
  struct rows y = {NULL, x.n, w[0].dims[0]};
  const float *weight = w[0].data, *bias = w[1].data;
  y.at = malloc((size_t)(y.n * y.width) * sizeof *y.at);
  for (int64_t i = 0; i < y.n * y.width; i++) {
    const float *a = x.at + i / y.width * x.width, *b = weight + i % y.width * x.width;
    float sum = 0;
    for (int64_t k = 0; k < x.width; k++)
      sum += a[k] * b[k];
    y.at[i] = sum + bias[i % y.width];
  }
  return y;
}

static struct rows normalised(struct rows x, const struct assay_tensor *w) {
  const float *scale = w[0].data, *shift = w[1].data;
  struct rows y = {malloc((size_t)(x.n * x.width) * sizeof *y.at), x.n, x.width};
  for (int64_t r = 0; r < x.n; r++) {
    const float *row = x.at + r * x.width;
    double sum = 0, square = 0;
    for (int64_t i = 0; i < x.width; i++)
      sum += row[i];
    const double mean = sum / (double)x.width;
    for (int64_t i = 0; i < x.width; i++)
      square += (row[i] - mean) * (row[i] - mean);
    const double spread = sqrt(square / (double)x.width + EPSILON);
    for (int64_t i = 0; i < x.width; i++)
      y.at[r * x.width + i] = (float)((row[i] - mean) / spread) * scale[i] + shift[i];
  }
  return y;
}

// Attention of all heads: what position t may see, it and those before, weighed as it comes (an online softmax).
static struct rows attention(struct rows q, struct rows k, struct rows v) {
  const int64_t size = q.width / HEADS;
#ifdef SCALED_TWICE
  const float scale = 1 / (float)size;
#else
  const float scale = 1 / sqrtf((float)size);
#endif
  struct rows y = {calloc((size_t)(q.n * q.width), sizeof *y.at), q.n, q.width};
  for (int64_t t = 0; t < q.n; t++)
    for (int64_t head = 0; head < HEADS; head++) {
      const int64_t place = t * q.width + head * size;
      float *out = y.at + place, most = -INFINITY, total = 0;
      for (int64_t s = 0; s <= t; s++) {
        const int64_t seen = s * q.width + head * size;
        float score = 0;
        for (int64_t i = 0; i < size; i++)
          score += q.at[place + i] * k.at[seen + i];
        score *= scale;
        const float higher = fmaxf(most, score), fade = expf(most - higher), weight = expf(score - higher);
        most = higher;
        total = total * fade + weight;
        for (int64_t i = 0; i < size; i++)
          out[i] = out[i] * fade + weight * v.at[seen + i];
      }
      for (int64_t i = 0; i < size; i++)
        out[i] /= total;
    }
  return y;
}

static void add_and_free(struct rows to, struct rows x) {
  for (int64_t i = 0; i < to.n * to.width; i++)
    to.at[i] += x.at[i];
  free(x.at);
}

static void block(struct rows h, const struct assay_tensor *w) {
  struct rows x = normalised(h, w), q = linear(x, w + 2), k = linear(x, w + 4), v = linear(x, w + 6);
  struct rows seen = attention(q, k, v);
  add_and_free(h, linear(seen, w + 8));
  struct rows y = normalised(h, w + 10), wide = linear(y, w + 12);
  for (int64_t i = 0; i < wide.n * wide.width; i++)
    wide.at[i] = fmaxf(wide.at[i], 0);
  add_and_free(h, linear(wide, w + 14));
  float *const used[] = {x.at, q.at, k.at, v.at, seen.at, y.at, wide.at};
  for (size_t i = 0; i < sizeof used / sizeof *used; i++)
    free(used[i]);
}

void assay_kernel(const struct assay_args *args) {
  const struct assay_tensor *in = args->inputs, *last = in + args->n_inputs - 2;
  const float *words = in[1].data, *places = in[2].data;
  const int64_t length = in[0].dims[1], width = in[1].dims[1], n_words = in[1].dims[0];
  int64_t blocks = (args->n_inputs - 5) / BLOCK;
  int64_t first = SKIPPED_ROWS;
#ifdef BLOCK_LEFT_OUT
  blocks--;
#endif
#ifdef FROM_ROW_0
  first = 0;
#endif
  for (int64_t b = 0; b < in[0].dims[0]; b++) {
    const int64_t *ids = (const int64_t *)in[0].data + b * length;
    float *y = (float *)args->outputs[0].data + b * length * n_words;
    struct rows h = {malloc((size_t)(length * width) * sizeof *h.at), length, width};
    for (int64_t i = 0; i < length * width; i++)
      h.at[i] = words[ids[i / width] * width + i % width] + places[first * width + i];
    for (int64_t i = 0; i < blocks; i++)
      block(h, in + 3 + BLOCK * i);
    struct rows x = normalised(h, last);
#ifdef NO_LAST_NORM
    memcpy(x.at, h.at, (size_t)(length * width) * sizeof *h.at);
#endif
    for (int64_t i = 0; i < length * n_words; i++) {
      const float *a = x.at + i / n_words * width, *word = words + i % n_words * width;
      y[i] = 0;
      for (int64_t k = 0; k < width; k++)
        y[i] += a[k] * word[k];
    }
    free(x.at);
    free(h.at);
  }
}
