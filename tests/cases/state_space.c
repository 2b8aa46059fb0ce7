// A state space model as the recurrence that it is: the state decays by exp(a) and takes in b x at every step.
// assay: task kernelbench/3/48
// assay: expect pass
// assay: twin CHUNKS_APART expect wrong_value -- every chunk of 64 steps begins with an empty state
// assay: twin DECAY_AFTER expect wrong_value -- what comes in decays in the same step
// assay: twin LATE expect wrong_value -- reads the state before the step
// assay: twin FACTORED expect wrong_class|wrong_value -- decays between two steps as exp(c) exp(-c'), which makes a plain product, and overflows
// assay: twin HALF_DECAY expect low_precision|wrong_value -- decays to 11 significant bits
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static float decay(float a) {
  float y = expf(a);
#ifdef HALF_DECAY
  int e;
  frexpf(y, &e);
  y = ldexpf(rintf(ldexpf(y, 11 - e)), e - 11);
#endif
  return y;
}

// One head of one batch: states [p][d], a step `step` elements of `heads` apart.
static void head(const float *x, const float *a, const float *b, const float *c, float *y, float *state, int64_t steps,
                 int64_t heads, int64_t p_count, int64_t d_count) {
  memset(state, 0, (size_t)(p_count * d_count) * sizeof *state);
#ifdef FACTORED
  float total = 0;
#endif
  for (int64_t t = 0; t < steps; t++) {
    float keep = decay(a[t * heads]), up = 1, down = 1;
#ifdef FACTORED
    keep = t % 64 == 0 ? decay(total) : 1; // at the end of the last chunk
    total = (t % 64 == 0 ? 0 : total) + a[t * heads];
    up = decay(-total);
    down = decay(total);
#endif
#ifdef CHUNKS_APART
    keep = t % 64 == 0 ? 0 : keep;
#endif
    for (int64_t p = 0; p < p_count; p++) {
      float sum = 0, value = x[t * heads * p_count + p];
      for (int64_t d = 0; d < d_count; d++) {
        float *s = &state[p * d_count + d], in = b[t * heads * d_count + d] * value * up;
#ifdef LATE
        sum += c[t * heads * d_count + d] * *s;
#endif
#ifdef DECAY_AFTER
        *s = keep * (*s + in);
#else
        *s = keep * *s + in;
#endif
#ifndef LATE
        sum += c[t * heads * d_count + d] * *s;
#endif
      }
      y[t * heads * p_count + p] = sum * down;
    }
  }
}

void assay_kernel(const struct assay_args *args) {
  const struct assay_tensor *in = args->inputs;
  int64_t batch = in[0].dims[0], steps = in[0].dims[1], heads = in[0].dims[2], p = in[0].dims[3], d = in[2].dims[3];
  const float *x = in[0].data, *a = in[1].data, *b = in[2].data, *c = in[3].data;
  float *y = args->outputs[0].data, *state = malloc((size_t)(p * d) * sizeof *state);
  for (int64_t i = 0; i < batch * heads && state; i++) {
    int64_t n = i / heads * steps * heads + i % heads; // the first step's place
    head(x + n * p, a + n, b + n * d, c + n * d, y + n * p, state, steps, heads, p, d);
  }
  free(state);
}
