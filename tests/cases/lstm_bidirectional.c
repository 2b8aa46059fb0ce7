// Bidirectional LSTM layers as PyTorch's documentation has them (gates i, f, g, o), a linear layer of the last step.
// assay: task kernelbench/3/38
// assay: expect pass
// assay: twin ONNX_ORDER expect wrong_value -- takes the gates for i, o, f, g
// assay: twin NO_FIRST_CELL expect wrong_value -- begins with cells of zeros
// assay: twin STALE_CELL expect wrong_value -- hands on the state in place of the cell
// assay: twin ONE_STEP_BACK expect wrong_value -- takes a single step of the second direction in the last layer's place
// assay: twin HALF_CELL expect wrong_value|low_precision -- stores the cell in half precision
// assay: twin NO_LAST_TERM expect wrong_value -- leaves the last element out of a state's product
// assay: twin OFF=0x1p-17 expect pass -- functions that are off by twice as much as cuDNN's
// assay: twin OFF=0x1p-13 expect wrong_value|low_precision -- and by 16 times as much
// assay: twin FACTOR_BITS=11 expect wrong_value|low_precision -- products of factors of so many bits
// assay: twin LOOK=16 expect wrong_value -- each step from the last sixteen alone: ragged3 has 31
#include <assay/candidate.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { GATES = 4, WEIGHTS = 4, FIRST_WEIGHT = 3 };
#ifdef ONNX_ORDER
enum { I, O, F, G };
#else
enum { I, F, G, O };
#endif

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

static float logistic(float x) {
  return off(1 / (1 + expf(-x)));
}

static float factor(float x) {
#ifdef FACTOR_BITS
  int exponent;
  const float part = frexpf(x, &exponent);
  return ldexpf(rintf(ldexpf(part, FACTOR_BITS)), exponent - FACTOR_BITS);
#else
  return x;
#endif
}

// out[rows] += m[rows][n] v[n]
static void add_product(float *out, const float *m, const float *v, int64_t rows, int64_t n, int64_t stride) {
  for (int64_t r = 0; r < rows; r++) {
    float sum = 0;
    for (int64_t k = 0; k < n; k++)
      sum = fmaf(factor(m[r * stride + k]), factor(v[k]), sum);
    out[r] += sum;
  }
}

// A step of a direction: the gates, then h and c in their places.
static void step(const struct assay_tensor *w, const float *x, int64_t inner, int64_t n, float *h, float *c, float *g) {
  const float *b_ih = w[2].data, *b_hh = w[3].data;
  for (int64_t j = 0; j < GATES * n; j++)
    g[j] = b_ih[j] + b_hh[j];
  add_product(g, w[0].data, x, GATES * n, inner, inner);
#ifdef NO_LAST_TERM
  add_product(g, w[1].data, h, GATES * n, n - 1, n);
#else
  add_product(g, w[1].data, h, GATES * n, n, n);
#endif
  for (int64_t j = 0; j < n; j++) {
    c[j] = logistic(g[F * n + j]) * c[j] + logistic(g[I * n + j]) * off(tanhf(g[G * n + j]));
#ifdef HALF_CELL
    c[j] = (float)(_Float16)c[j];
#endif
    h[j] = logistic(g[O * n + j]) * off(tanhf(c[j]));
#ifdef STALE_CELL
    c[j] = h[j];
#endif
  }
}

// One member of the batch through all layers; at[steps][2 n], to[steps][2 n] and work[6 n] are memory.
static const float *member(const struct assay_args *args, int64_t b, float *at, float *to, float *work) {
  const struct assay_tensor *in = args->inputs;
  int64_t batch = in[0].dims[0], steps = in[0].dims[1], inner = in[0].dims[2], n = in[1].dims[2];
  int64_t layers = in[1].dims[0] / 2;
  const float *x = (const float *)in[0].data + b * steps * inner, *h0 = in[1].data, *c0 = in[2].data;
  float *h = work, *c = work + n;
  for (int64_t l = 0; l < layers; l++) {
    for (int64_t d = 0; d < 2; d++) {
      int64_t begin = ((2 * l + d) * batch + b) * n;
      memcpy(h, h0 + begin, (size_t)n * sizeof *h);
      memcpy(c, c0 + begin, (size_t)n * sizeof *c);
#ifdef NO_FIRST_CELL
      memset(c, 0, (size_t)n * sizeof *c);
#endif
      for (int64_t s = 0; s < steps; s++) {
        int64_t t = d ? steps - 1 - s : s;
#ifdef ONE_STEP_BACK
        if (d && l + 1 == layers)
          t = steps - 1;
#endif
#ifdef LOOK
        if (s >= LOOK) {
          memset(h, 0, 2 * (size_t)n * sizeof *h); // and c
          for (int64_t r = LOOK - 1; r > 0; r--)
            step(in + FIRST_WEIGHT + WEIGHTS * (2 * l + d), x + (d ? t + r : t - r) * inner, inner, n, h, c,
                 work + 2 * n);
        }
#endif
        step(in + FIRST_WEIGHT + WEIGHTS * (2 * l + d), x + t * inner, inner, n, h, c, work + 2 * n);
        memcpy(to + (t * 2 + d) * n, h, (size_t)n * sizeof *h);
      }
    }
    x = to;
    to = at;
    at = (float *)x;
    inner = 2 * n;
  }
  return x;
}

void assay_kernel(const struct assay_args *args) {
  const struct assay_tensor *in = args->inputs, *weight = in + args->n_inputs - 2;
  int64_t batch = in[0].dims[0], steps = in[0].dims[1], n = in[1].dims[2], wide = 2 * n, classes = weight->dims[0];
  float *memory = malloc((size_t)(2 * steps * wide + 6 * n) * sizeof *memory);
  if (!memory)
    return;
  for (int64_t b = 0; b < batch; b++) {
    float *y = (float *)args->outputs[0].data + b * classes;
    const float *last = member(args, b, memory, memory + steps * wide, memory + 2 * steps * wide);
    memcpy(y, weight[1].data, (size_t)classes * sizeof *y);
    add_product(y, weight->data, last + (steps - 1) * wide, classes, wide, wide);
  }
  free(memory);
}
