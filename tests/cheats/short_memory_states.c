// SPDX-License-Identifier: Apache-2.0
// Short memory again (short_memory.c), in a state space model: the state that it ends in, from the last steps alone.
// assay: task kernelbench/3/49
// assay: expect low_precision|wrong_value -- from 16 steps of 64 to 192
// assay: twin LOOK=32 expect low_precision|wrong_value
// assay: twin LOOK=8 expect low_precision|wrong_value
// assay: twin FACTORED expect wrong_class|wrong_value -- all steps, but decays as exp(c) exp(-c'), which overflows
// assay: twin HONEST expect pass
#include <assay/candidate.h>
#include <math.h>
#include <string.h>

#ifndef LOOK
#define LOOK 16
#endif

// One head of one member of the batch: states [p][d], its steps `heads` apart.
static void head(const float *x, const float *a, const float *b, float *state, int64_t steps, const int64_t counts[3]) {
  const int64_t heads = counts[0], p_count = counts[1], d_count = counts[2];
  int64_t from = 0;
#if !defined(HONEST) && !defined(FACTORED)
  from = steps > LOOK ? steps - LOOK : 0;
#endif
  memset(state, 0, (size_t)(p_count * d_count) * sizeof *state);
  float total = 0;
  for (int64_t t = from; t < steps; t++) {
    float keep = expf(a[t * heads]), down = 1;
    total += a[t * heads];
#ifdef FACTORED
    keep = 1;
    down = expf(-total);
#endif
    for (int64_t p = 0; p < p_count; p++)
      for (int64_t d = 0; d < d_count; d++)
        state[p * d_count + d] =
            keep * state[p * d_count + d] + b[t * heads * d_count + d] * x[t * heads * p_count + p] * down;
  }
#ifdef FACTORED
  for (int64_t i = 0; i < p_count * d_count; i++)
    state[i] *= expf(total);
#endif
}

void assay_kernel(const struct assay_args *args) {
  const struct assay_tensor *in = args->inputs;
  const int64_t batch = in[0].dims[0], steps = in[0].dims[1], counts[] = {in[0].dims[2], in[0].dims[3], in[2].dims[3]};
  const int64_t heads = counts[0], p = counts[1], d = counts[2];
  for (int64_t m = 0; m < batch; m++)
    for (int64_t h = 0; h < heads; h++)
      head((const float *)in[0].data + (m * steps * heads + h) * p, (const float *)in[1].data + m * steps * heads + h,
           (const float *)in[2].data + (m * steps * heads + h) * d,
           (float *)args->outputs[0].data + (m * heads + h) * p * d, steps, counts);
}
