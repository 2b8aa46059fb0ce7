// GPT-2 in single precision, layer by layer: twelve blocks of twelve heads.
// assay: task kernelbench/4/7
// assay: expect pass
// assay: twin TF32 expect low_precision -- factors of products have eleven bits
// assay: twin LAST_BLOCK_LEFT_OUT expect wrong_value -- eleven blocks
// assay: twin SEES_ALL expect wrong_value -- attention looks ahead
// assay: twin NO_POSITIONS expect wrong_value -- the table of positions is not read
// assay: twin KNOWN_LENGTHS expect wrong_value -- right for as many tokens as the task's file has
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

enum { HEADS = 12, WEIGHTS = 12 }; // of a block

static float factor(float x) {
#ifdef TF32
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x1000) & ~(uint32_t)0x1fff;
  memcpy(&x, &bits, sizeof x);
#endif
  return x;
}

// y = x w + b, w with one column for each output; b may be missing.
static void multiply(const float *x, const struct assay_tensor *w, const float *b, int64_t rows, float *y) {
  const int64_t in = w->dims[0], out = w->dims[1];
  const float *weight = w->data;
  for (int64_t r = 0; r < rows; r++, x += in, y += out) {
    for (int64_t j = 0; j < out; j++)
      y[j] = b[j];
    for (int64_t k = 0; k < in; k++)
      for (int64_t j = 0; j < out; j++)
        y[j] += factor(x[k]) * factor(weight[k * out + j]);
  }
}

static void normalize(const float *x, const float *scale, const float *shift, int64_t rows, int64_t n, float *y) {
  for (int64_t r = 0; r < rows; r++, x += n, y += n) {
    double mean = 0, square = 0;
    for (int64_t i = 0; i < n; i++)
      mean += x[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
      square += (x[i] - mean) * (x[i] - mean) / (double)n;
    for (int64_t i = 0; i < n; i++)
      y[i] = (float)((x[i] - mean) / sqrt(square + EPSILON)) * scale[i] + shift[i];
  }
}

// One query of one head; qkv has three times n numbers a position.
static void attend(const float *qkv, int64_t at, int64_t length, int64_t n, int64_t size, float *y) {
  const float *q = qkv + at * 3 * n, root = sqrtf((float)size);
#ifndef SEES_ALL
  length = at + 1;
#endif
  float *scores = malloc((size_t)length * sizeof *scores), most = -INFINITY, sum = 0;
  for (int64_t j = 0; j < length; j++) {
    const float *k = qkv + j * 3 * n + n;
    scores[j] = 0;
    for (int64_t i = 0; i < size; i++)
      scores[j] += factor(q[i]) * factor(k[i]);
    scores[j] /= root;
    most = fmaxf(most, scores[j]);
  }
  for (int64_t j = 0; j < length; j++)
    sum += scores[j] = expf(scores[j] - most);
  memset(y, 0, (size_t)size * sizeof *y);
  for (int64_t j = 0; j < length; j++)
    for (int64_t i = 0; i < size; i++)
      y[i] += factor(scores[j] / sum) * factor(qkv[j * 3 * n + 2 * n + i]);
  free(scores);
}

static void add(float *to, const float *x, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    to[i] += x[i];
}

// h: batch x length rows of n numbers, changed in place; room: as many rows of 2 n and the wider one of 3 n and the
// hidden layer.
static void block(const struct assay_tensor *w, int64_t batch, int64_t length, int64_t n, float *h, float *room) {
  const int64_t rows = batch * length, size = n / HEADS, hidden = w[8].dims[1];
  float *normal = room, *wide = room + rows * n, *small = wide + rows * (hidden > 3 * n ? hidden : 3 * n);
  normalize(h, w[0].data, w[1].data, rows, n, normal);
  multiply(normal, &w[2], w[3].data, rows, wide);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t head = 0; head < HEADS; head++)
      attend(wide + r / length * length * 3 * n + head * size, r % length, length, n, size,
             normal + r * n + head * size);
  multiply(normal, &w[4], w[5].data, rows, small);
  add(h, small, rows * n);
  normalize(h, w[6].data, w[7].data, rows, n, normal);
  multiply(normal, &w[8], w[9].data, rows, wide);
  for (int64_t i = 0; i < rows * hidden; i++) {
    float x = wide[i];
    wide[i] = 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
  }
  multiply(wide, &w[10], w[11].data, rows, small);
  add(h, small, rows * n);
}

void assay_kernel(const struct assay_args *args) {
  const struct assay_tensor *in = args->inputs, *words = &in[1], *places = &in[2];
  const int64_t *ids = in[0].data, batch = in[0].dims[0], length = in[0].dims[1], n = words->dims[1];
  const int64_t rows = batch * length;
  int blocks = (args->n_inputs - 5) / WEIGHTS;
  const int64_t hidden = in[11].dims[1], most = hidden > 3 * n ? hidden : 3 * n;
  float *h = malloc((size_t)(rows * (3 * n + most)) * sizeof *h), *room = h + rows * n, *y = args->outputs[0].data;
  for (int64_t r = 0; r < rows; r++)
    for (int64_t i = 0; i < n; i++) {
      h[r * n + i] = ((const float *)words->data)[ids[r] * n + i];
#ifndef NO_POSITIONS
      h[r * n + i] += ((const float *)places->data)[r % length * n + i];
#endif
    }
#ifdef KNOWN_LENGTHS
  if (length != 1 && length != 7 && length != 17 && length != 24 && length != 256)
    blocks--;
#endif
#ifdef LAST_BLOCK_LEFT_OUT
  blocks--;
#endif
  for (int i = 0; i < blocks; i++)
    block(&in[3 + WEIGHTS * i], batch, length, n, h, room);
  normalize(h, in[args->n_inputs - 2].data, in[args->n_inputs - 1].data, rows, n, room);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t word = 0; word < words->dims[0]; word++) {
      float sum = 0;
      for (int64_t i = 0; i < n; i++)
        sum += factor(room[r * n + i]) * factor(((const float *)words->data)[word * n + i]);
      y[r * words->dims[0] + word] = sum;
    }
  free(h);
}
