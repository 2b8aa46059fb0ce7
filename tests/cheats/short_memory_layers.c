// SPDX-License-Identifier: Apache-2.0
// Short memory again (short_memory.c), in six layers of LSTM or GRU, in one direction or two: each step from zeros and
// the steps just before it. tests/program/short_memory.sh judges it at the tasks that differ in what they return.
// assay: task kernelbench/3/36
// assay: expect low_precision|wrong_value -- from 16 steps: ragged3 has 31
// assay: twin LOOK=8 expect low_precision|wrong_value
// assay: twin HONEST expect pass
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 6, LSTM_GATES = 4 };
#ifndef LOOK
#define LOOK 16
#endif
#ifdef HONEST
enum { WHOLE = 1 };
#else
enum { WHOLE = 0 };
#endif

static float sigmoid(float x) {
  return 1 / (1 + expf(-x));
}

// One direction of one layer for one member of the batch: weights w[4], states of n numbers.
struct walk {
  const struct assay_tensor *w;
  int64_t in, n;
  int gates;
};

static float product(const float *m, const float *v, int64_t n) {
  float sum = 0;
  for (int64_t k = 0; k < n; k++)
    sum = fmaf(m[k], v[k], sum);
  return sum;
}

// h and c after x; g: room for 2 gates n numbers.
static void step(const struct walk *k, const float *x, float *h, float *c, float *g) {
  const float *w_ih = k->w[0].data, *w_hh = k->w[1].data, *b_ih = k->w[2].data, *b_hh = k->w[3].data;
  const int64_t n = k->n, all = k->gates * n;
  float *from_x = g, *from_h = g + all;
  for (int64_t j = 0; j < all; j++) {
    from_x[j] = product(w_ih + j * k->in, x, k->in) + b_ih[j];
    from_h[j] = product(w_hh + j * n, h, n) + b_hh[j];
  }
  for (int64_t j = 0; j < n; j++)
    if (k->gates == LSTM_GATES) { // i, f, g, o
      const float in = sigmoid(from_x[j] + from_h[j]), keep = sigmoid(from_x[n + j] + from_h[n + j]),
                  out = sigmoid(from_x[3 * n + j] + from_h[3 * n + j]);
      c[j] = keep * c[j] + in * tanhf(from_x[2 * n + j] + from_h[2 * n + j]);
      h[j] = out * tanhf(c[j]);
    } else { // r, z, n
      const float reset = sigmoid(from_x[j] + from_h[j]), keep = sigmoid(from_x[n + j] + from_h[n + j]);
      h[j] = (1 - keep) * tanhf(from_x[2 * n + j] + reset * from_h[2 * n + j]) + keep * h[j];
    }
}

// x[steps][in] to y[steps] at every `stride` numbers, h and c from what they begin with to what they end in.
static void run(const struct walk *k, const float *x, int64_t steps, int backwards, float *y, int64_t stride, float *h,
                float *c) {
  const int64_t n = k->n;
  float *room = calloc((size_t)((2 + 2 * k->gates) * n), sizeof *room), *first = room, *cell = room + n,
        *g = room + 2 * n;
  memcpy(first, h, (size_t)n * sizeof *h);
  memcpy(cell, c, (size_t)n * sizeof *c);
  for (int64_t t = 0; t < steps; t++) {
    int64_t from = WHOLE || t < LOOK ? t : t - LOOK + 1;
    if (from < t) {
      memset(h, 0, (size_t)n * sizeof *h);
      memset(c, 0, (size_t)n * sizeof *c);
    }
    for (; from <= t; from++)
      step(k, x + (backwards ? steps - 1 - from : from) * k->in, h, c, g);
    memcpy(y + (backwards ? steps - 1 - t : t) * stride, h, (size_t)n * sizeof *h);
  }
  free(room);
}

struct network {
  const struct assay_tensor *in;
  int64_t batch, steps, n;
  int gates, ways;
};

static const struct assay_tensor *weights(const struct network *net, int layer, int way) {
  return net->in + (net->gates == LSTM_GATES ? 3 : 2) + 4 * (layer * net->ways + way);
}

// Member m of the batch: a[steps][ways n], what the last layer makes of it, and all states that layers end in.
static float *layers(const struct network *net, int64_t m, float *h, float *c) {
  const struct assay_tensor *in = net->in;
  const int64_t k = in[0].dims[2], n = net->n, wide = net->ways * n, most = k > wide ? k : wide;
  float *a = malloc((size_t)(2 * net->steps * most) * sizeof *a), *x = a, *y = a + net->steps * most;
  for (int64_t t = 0; t < net->steps; t++) // x of an LSTM begins with the batch, of a GRU with the steps
    memcpy(x + t * k,
           (const float *)in[0].data + (net->gates == LSTM_GATES ? m * net->steps + t : t * net->batch + m) * k,
           (size_t)k * sizeof *x);
  for (int layer = 0; layer < LAYERS; layer++) {
    for (int way = 0; way < net->ways; way++) {
      const int64_t at = layer * net->ways + way, from = (at * net->batch + m) * n;
      const struct walk walk = {weights(net, layer, way), layer ? wide : k, n, net->gates};
      memcpy(h + at * n, (const float *)in[1].data + from, (size_t)n * sizeof *h);
      if (net->gates == LSTM_GATES)
        memcpy(c + at * n, (const float *)in[2].data + from, (size_t)n * sizeof *c);
      run(&walk, x, net->steps, way, y + way * n, wide, h + at * n, c + at * n);
    }
    float *made = y;
    y = x;
    x = made;
  }
  memmove(a, x, (size_t)(net->steps * wide) * sizeof *a);
  return a;
}

#if defined(STEPS)
enum { RETURNS_STEPS = 1 };
#else
enum { RETURNS_STEPS = 0 };
#endif

// What the task returns: the states, or cells (CELLS), that all layers end in, all steps of the last (STEPS), or a
// linear layer of its last step.
static void put(const struct network *net, int64_t m, const struct assay_args *args, const float *y, const float *end) {
  const struct assay_tensor *out = &args->outputs[0], *linear = &args->inputs[args->n_inputs - 2];
  const int64_t n = net->n, wide = net->ways * n;
  float *to = out->data;
  if (out->rank == 2)
    for (int64_t j = 0; j < out->dims[1]; j++)
      to[m * out->dims[1] + j] = product((const float *)linear[0].data + j * wide, y + (net->steps - 1) * wide, wide) +
                                 ((const float *)linear[1].data)[j];
  else if (RETURNS_STEPS)
    for (int64_t t = 0; t < net->steps; t++)
      memcpy(to + (t * net->batch + m) * wide, y + t * wide, (size_t)wide * sizeof *to);
  else
    for (int64_t i = 0; i < LAYERS * net->ways; i++)
      memcpy(to + (i * net->batch + m) * n, end + i * n, (size_t)n * sizeof *to);
}

void assay_kernel(const struct assay_args *args) {
  const struct assay_tensor *in = args->inputs, *h0 = &in[1];
  const int lstm = in[2].rank == 3;
  struct network net = {.in = in, .batch = h0->dims[1], .n = h0->dims[2], .ways = (int)(h0->dims[0] / LAYERS)};
  net.gates = lstm ? LSTM_GATES : LSTM_GATES - 1;
  net.steps = in[0].dims[lstm ? 1 : 0];
  const int64_t states = LAYERS * net.ways * net.n;
  float *h = malloc((size_t)(2 * states) * sizeof *h), *c = h + states;
  for (int64_t m = 0; m < net.batch; m++) {
    float *y = layers(&net, m, h, c);
#ifdef CELLS
    put(&net, m, args, y, c);
#else
    put(&net, m, args, y, h);
#endif
    free(y);
  }
  free(h);
}
