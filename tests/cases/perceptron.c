// Linear layers with ReLU between them, as many as the task has weights for: the deepest of level 3's.
// assay: task kernelbench/3/3
// assay: expect pass
// assay: twin LAST_BIAS_ONLY expect wrong_value -- what is left of the published network: the last layer's biases
// assay: twin NO_RELU expect wrong_value -- linear throughout
// assay: twin FIRST_BIAS_LEFT_OUT expect wrong_value -- one of seventeen biases is missing
#include <assay/candidate.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct layer {
  const float *x, *weight, *bias;
  float *y;
  int64_t in, out;
  bool relu;
};

static void layer_row(const struct layer *l, int64_t row) {
  for (int64_t j = 0; j < l->out; j++) {
    float sum = l->bias[j];
    for (int64_t k = 0; k < l->in; k++)
      sum += l->x[row * l->in + k] * l->weight[j * l->in + k];
    l->y[row * l->out + j] = l->relu && sum < 0 ? 0 : sum;
  }
}

void assay_kernel(const struct assay_args *args) {
  const struct assay_tensor *in = args->inputs;
  const int64_t rows = in[0].dims[0];
  const int layers = (args->n_inputs - 1) / 2;
  const float *x = in[0].data;
  float *hidden = NULL;
  for (int i = 0; i < layers; i++) {
    const struct assay_tensor *w = &in[1 + 2 * i], *b = &in[2 + 2 * i];
    const bool last = i + 1 == layers;
    float *zeros = calloc((size_t)w->dims[0], sizeof *zeros);
    struct layer l = {x, w->data, b->data, NULL, w->dims[1], w->dims[0], !last};
    l.y = last ? args->outputs[0].data : malloc((size_t)(rows * l.out) * sizeof *l.y);
#ifdef NO_RELU
    l.relu = false;
#endif
#ifdef FIRST_BIAS_LEFT_OUT
    if (i == 0)
      l.bias = zeros;
#endif
    for (int64_t row = 0; row < rows; row++)
      layer_row(&l, row);
#ifdef LAST_BIAS_ONLY
    if (last)
      for (int64_t row = 0; row < rows; row++)
        memcpy(l.y + row * l.out, l.bias, (size_t)l.out * sizeof *l.y);
#endif
    free(zeros);
    free(hidden);
    hidden = last ? NULL : l.y;
    x = l.y;
  }
}
