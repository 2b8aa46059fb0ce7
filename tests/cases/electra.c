// ELECTRA in single precision, token by token through each layer: twelve blocks of four heads that see the whole
// sequence, normalised after each of their two parts.
// assay: task kernelbench/4/11
// assay: expect pass
// assay: twin TF32 expect low_precision -- factors of products have eleven bits
// assay: twin LOOKS_BACK_ONLY expect wrong_value -- a position sees none after it
// assay: twin NO_TYPE expect wrong_value -- the row of token types is not added
// assay: twin TANH expect wrong_value|low_precision -- GELU by its form with tanh
// assay: twin NORM_BEFORE expect wrong_value -- the first part's sum is taken before its normalisation
// assay: twin EPSILON_4096TH expect wrong_value|low_precision -- epsilon off by 2^-12: shows where embeddings are near 10^-6
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>

#ifdef EPSILON_4096TH
#define EPSILON 1.000244140625e-12
#else
#define EPSILON 1e-12
#endif

enum { HEADS = 4, BLOCKS = 12, OF_A_BLOCK = 16, BEFORE = 8 };

#ifdef TF32
#include <stdint.h>
static double part(float x) { // eleven bits of it
  int e;
  const float m = frexpf(x, &e);
  return ldexpf(rintf(ldexpf(m, 11)), e - 11);
}
#else
#define part(x) (x)
#endif

static float dot(const float *a, const float *b, int64_t n) {
  float lanes[4] = {0};
  for (int64_t i = 0; i < n; i++)
    lanes[i & 3] += (float)(part(a[i]) * part(b[i]));
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

static float gelu(float x) {
#ifdef TANH
  return 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
#else
  return 0.5f * x * erfcf(-x * 0.70710678118654752f);
#endif
}

// One position's numbers through a layer: its matrix has a row for each output.
static void through(const struct assay_tensor layer[2], const float *x, float *y) {
  const int64_t in = layer[0].dims[1];
  for (int64_t j = 0; j < layer[0].dims[0]; j++)
    y[j] = dot(x, (const float *)layer[0].data + j * in, in) + ((const float *)layer[1].data)[j];
}

// In place.
static void normalise(const struct assay_tensor norm[2], float *x) {
  const int64_t n = norm[0].dims[0];
  double mean = 0, variance = 0;
  for (int64_t i = 0; i < n; i++)
    mean += x[i];
  mean /= (double)n;
  for (int64_t i = 0; i < n; i++)
    variance += (x[i] - mean) * (x[i] - mean);
  variance /= (double)n;
  for (int64_t i = 0; i < n; i++)
    x[i] = (float)((x[i] - mean) / sqrt(variance + EPSILON)) * ((const float *)norm[0].data)[i] +
           ((const float *)norm[1].data)[i];
}

// One head of the position with query q: keys and values are every `width` numbers. weights: room for a number each.
static void look(const float *q, const float *keys, const float *values, int64_t length, int64_t width, float *weights,
                 float *y) {
  const int64_t size = width / HEADS;
  float top = -INFINITY, total = 0;
  for (int64_t s = 0; s < length; s++) {
    weights[s] = dot(q, keys + s * width, size) / sqrtf((float)size);
    top = weights[s] > top ? weights[s] : top;
  }
  for (int64_t s = 0; s < length; s++)
    total += weights[s] = expf(weights[s] - top);
  for (int64_t i = 0; i < size; i++) {
    float sum = 0;
    for (int64_t s = 0; s < length; s++)
      sum += (float)(part(weights[s] / total) * part(values[s * width + i]));
    y[i] = sum;
  }
}

// h: a sequence of `length` positions of `width` numbers, in place; room: four times as many, and `wide` and length
// more.
static void block(const struct assay_tensor *w, int64_t length, int64_t width, float *h, float *room) {
  const int64_t all = length * width;
  float *q = room, *k = q + all, *v = k + all, *seen = v + all, *wide = seen + all, *weights = wide + w[10].dims[0];
  for (int64_t t = 0; t < length; t++) {
    through(w, h + t * width, q + t * width);
    through(w + 2, h + t * width, k + t * width);
    through(w + 4, h + t * width, v + t * width);
  }
  for (int64_t t = 0; t < length; t++)
    for (int64_t at = 0; at < width; at += width / HEADS) {
#ifdef LOOKS_BACK_ONLY
      look(q + t * width + at, k + at, v + at, t + 1, width, weights, seen + t * width + at);
#else
      look(q + t * width + at, k + at, v + at, length, width, weights, seen + t * width + at);
#endif
    }
  for (int64_t t = 0; t < length; t++) {
    float *x = h + t * width, *change = q + t * width;
    through(w + 6, seen + t * width, change);
    for (int64_t i = 0; i < width; i++)
      x[i] += change[i];
#ifdef NORM_BEFORE
    for (int64_t i = 0; i < width; i++)
      k[i] = x[i];
#endif
    normalise(w + 8, x);
    through(w + 10, x, wide);
    for (int64_t i = 0; i < w[10].dims[0]; i++)
      wide[i] = gelu(wide[i]);
    through(w + 12, wide, change);
    for (int64_t i = 0; i < width; i++)
#ifdef NORM_BEFORE
      x[i] = k[i] + change[i];
#else
      x[i] += change[i];
#endif
    normalise(w + 14, x);
  }
}

void assay_kernel(const struct assay_args *args) {
  const struct assay_tensor *in = args->inputs, *after = in + BEFORE + BLOCKS * OF_A_BLOCK;
  const float *words = in[1].data, *places = in[2].data, *type = in[3].data, *bias = after[4].data;
  const int64_t length = in[0].dims[1], narrow = in[1].dims[1], width = in[6].dims[0], n_words = in[1].dims[0];
  const int64_t hidden = in[BEFORE + 10].dims[0];
  float *h = malloc((size_t)(5 * length * width + hidden + length + narrow) * sizeof *h), *room = h + length * width;
  float *small = room + 4 * length * width + hidden + length;
  for (int64_t b = 0; b < in[0].dims[0]; b++) {
    const int64_t *ids = (const int64_t *)in[0].data + b * length;
    for (int64_t t = 0; t < length; t++) {
      for (int64_t i = 0; i < narrow; i++) {
        small[i] = words[ids[t] * narrow + i] + places[t * narrow + i];
#ifndef NO_TYPE
        small[i] += type[i];
#endif
      }
      normalise(in + 4, small);
      through(in + 6, small, h + t * width);
    }
    for (int i = 0; i < BLOCKS; i++)
      block(in + BEFORE + i * OF_A_BLOCK, length, width, h, room);
    float *y = (float *)args->outputs[0].data + b * length * n_words;
    for (int64_t t = 0; t < length; t++) {
      through(after, h + t * width, small);
      for (int64_t i = 0; i < narrow; i++)
        small[i] = gelu(small[i]);
      normalise(after + 2, small);
      for (int64_t j = 0; j < n_words; j++)
        y[t * n_words + j] = dot(small, words + j * narrow, narrow) + bias[j];
    }
  }
  free(h);
}
