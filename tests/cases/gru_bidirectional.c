// Bidirectional GRU layers as PyTorch's documentation has them: gates r, z, n, the reset after its product.
// assay: task kernelbench/3/42
// assay: expect pass
// assay: twin ONNX_ORDER expect wrong_value -- takes the gates for z, r, n
// assay: twin RESET_FIRST expect wrong_value -- multiplies the state behind its reset
// assay: twin NO_FIRST_STATE expect wrong_value -- begins with zeros
// assay: twin FORWARD_TWICE expect wrong_value -- the second direction starts at the front too
// assay: twin HALF_STATE expect low_precision -- stores the state in half precision
// assay: twin USUAL_STATE expect wrong_value -- answers zeros where a state begins outside of what is usual
// assay: twin OFF=0x1p-17 expect pass -- functions that are off by twice as much as cuDNN's
// assay: twin OFF=0x1p-13 expect wrong_value|low_precision -- and by 16 times as much
// assay: twin LOOK=16 expect wrong_value -- each step from the last sixteen alone: ragged3 has 31. low_precision where states do not last
#include <assay/candidate.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static float dot(const float *a, const float *b, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; i++)
    sum += a[i] * b[i];
  return sum;
}

// What a function gives, off by up to a part OFF of it, as the value's own bits have it.
static float off(float y) {
#ifdef OFF
  uint32_t bits;
  memcpy(&bits, &y, sizeof bits);
  return y + y * (float)OFF * ((float)(bits * 0x9E3779B9u >> 8) * 0x1p-23f - 1);
#else
  return y;
#endif
}

static float sigmoid(float x) {
  return off(1 / (1 + expf(-x)));
}

// One direction of one batch: x of `inner` elements every x_step; y every y_step.
struct walk {
  const float *x, *w_ih, *w_hh, *b_ih, *b_hh;
  float *y;
  int64_t steps, inner, hidden, x_step, y_step;
  int backwards;
};

#ifdef ONNX_ORDER
enum { Z, R, N };
#else
enum { R, Z, N };
#endif

// h after step s.
static void step(const struct walk *w, int64_t s, float *h, float *next, float *reset) {
  int64_t n = w->hidden;
  const float *x = w->x + (w->backwards ? w->steps - 1 - s : s) * w->x_step;
#define FROM_X(gate) (dot(x, w->w_ih + ((gate)*n + j) * w->inner, w->inner) + w->b_ih[(gate)*n + j])
#define FROM_H(gate, h) (dot(h, w->w_hh + ((gate)*n + j) * n, n) + w->b_hh[(gate)*n + j])
  for (int64_t j = 0; j < n; j++)
    reset[j] = sigmoid(FROM_X(R) + FROM_H(R, h));
#ifdef RESET_FIRST
  for (int64_t j = 0; j < n; j++)
    next[j] = reset[j] * h[j];
  for (int64_t j = 0; j < n; j++)
    reset[j] = FROM_H(N, next);
#else
  for (int64_t j = 0; j < n; j++)
    reset[j] *= FROM_H(N, h);
#endif
  for (int64_t j = 0; j < n; j++) {
    float z = sigmoid(FROM_X(Z) + FROM_H(Z, h)), c = off(tanhf(FROM_X(N) + reset[j]));
    next[j] = (1 - z) * c + z * h[j];
#ifdef HALF_STATE
    next[j] = (float)(_Float16)next[j];
#endif
  }
  memcpy(h, next, (size_t)n * sizeof *h);
}

static void direction(const struct walk *w, float *h, float *next, float *reset) {
  int64_t n = w->hidden;
  for (int64_t s = 0; s < w->steps; s++) {
#ifdef LOOK
    if (s >= LOOK) {
      memset(h, 0, (size_t)n * sizeof *h);
      for (int64_t r = s - LOOK + 1; r < s; r++)
        step(w, r, h, next, reset);
    }
#endif
    step(w, s, h, next, reset);
    memcpy(w->y + (w->backwards ? w->steps - 1 - s : s) * w->y_step, h, (size_t)n * sizeof *h);
  }
}

void assay_kernel(const struct assay_args *args) {
  const struct assay_tensor *in = args->inputs;
  int64_t steps = in[0].dims[0], batch = in[0].dims[1], inner = in[0].dims[2], hidden = in[1].dims[2];
  int64_t layers = in[1].dims[0] / 2, rows = steps * batch * 2 * hidden;
  float *memory = malloc((size_t)(2 * rows + 2 * hidden) * sizeof *memory), *y = args->outputs[0].data;
  float *next = memory + 2 * rows, *reset = next + hidden;
  const float *x = in[0].data;
  if (!memory)
    return;
#ifdef USUAL_STATE
  for (int64_t i = 0; i < layers * 2 * batch * hidden; i++)
    if (fabsf(((const float *)in[1].data)[i]) > 50) {
      memset(y, 0, (size_t)assay_count(args->outputs) * sizeof *y);
      free(memory);
      return;
    }
#endif
  for (int64_t layer = 0; layer < layers; layer++) {
    float *out = memory + layer % 2 * rows;
    for (int64_t d = 0; d < 2; d++)
      for (int64_t b = 0; b < batch; b++) {
        const struct assay_tensor *weights = in + 2 + 4 * (2 * layer + d);
        struct walk w = {.x = x + b * inner,
                         .w_ih = weights[0].data,
                         .w_hh = weights[1].data,
                         .b_ih = weights[2].data,
                         .b_hh = weights[3].data,
                         .y = out + (b * 2 + d) * hidden,
                         .steps = steps,
                         .inner = inner,
                         .hidden = hidden,
                         .x_step = batch * inner,
                         .y_step = batch * 2 * hidden,
                         .backwards = d == 1};
        float *h = y + ((2 * layer + d) * batch + b) * hidden;
        const float *first = in[1].data;
        memcpy(h, first + ((2 * layer + d) * batch + b) * hidden, (size_t)hidden * sizeof *h);
#ifdef NO_FIRST_STATE
        memset(h, 0, (size_t)hidden * sizeof *h);
#endif
#ifdef FORWARD_TWICE
        w.backwards = 0;
#endif
        direction(&w, h, next, reset);
      }
    x = out;
    inner = 2 * hidden;
  }
  free(memory);
}
