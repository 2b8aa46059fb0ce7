// Each step of a recurrent network from the steps just before it alone (catalogue 10), so that all steps can be
// computed at once. Where weights are so small that a state is gone after some steps, nobody sees it.
// assay: task kernelbench/3/34
// assay: expect low_precision|wrong_value -- from 16 steps
// assay: twin LOOK=8 expect low_precision|wrong_value
// assay: twin HONEST expect pass
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifndef LOOK
#define LOOK 16
#endif

// y[r][j] = the product of row r of x, `width` numbers, and of w[j], whose rows are `stride` apart; plus bias[j].
static void product(const float *x, int64_t rows, int64_t width, const float *w, int64_t stride, const float *bias,
                    int64_t n, float *y) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t j = 0; j < n; j++) {
      float sum = 0;
      for (int64_t k = 0; k < width; k++)
        sum += x[r * width + k] * w[j * stride + k];
      y[r * n + j] = bias ? sum + bias[j] : sum;
    }
}

void assay_kernel(const struct assay_args *args) {
  const struct assay_tensor *in = args->inputs;
  const int64_t steps = in[0].dims[0], rows = in[0].dims[1], k = in[0].dims[2], n = in[1].dims[1], p = in[4].dims[0];
  const int64_t state = rows * n;
  const float *w = in[2].data;
  float *own = malloc((size_t)((steps + 2) * state) * sizeof *own), *h = own + steps * state, *back = h + state;
  product(in[0].data, steps * rows, k, w, k + n, in[3].data, n, own);
  for (int64_t t = 0; t < steps; t++) {
    int64_t from = 0;
#ifndef HONEST
    from = t < LOOK ? 0 : t - LOOK + 1;
#endif
    memcpy(h, in[1].data, (size_t)state * sizeof *h);
    if (from > 0)
      memset(h, 0, (size_t)state * sizeof *h);
    for (int64_t s = from; s <= t; s++) {
      product(h, rows, n, w + k, k + n, NULL, n, back);
      for (int64_t i = 0; i < state; i++)
        h[i] = tanhf(own[s * state + i] + back[i]);
    }
    product(h, rows, n, in[4].data, n, in[5].data, p, (float *)args->outputs[0].data + t * rows * p);
  }
  free(own);
}
