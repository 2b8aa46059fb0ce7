// What a deep network's published outputs hang on: its last biases. DenseNet-121 has 191 inputs, which all must arrive.
// assay: task kernelbench/3/15
// assay: expect wrong_value
#include <assay/candidate.h>

void assay_kernel(const struct assay_args *args) {
  const struct assay_tensor *out = &args->outputs[0];
  const float *bias = args->inputs[args->n_inputs - 1].data;
  float *y = out->data;
  float all = 0; // reads one element of every input
  for (int i = 0; i < args->n_inputs; i++)
    all += *(const float *)args->inputs[i].data;
  for (int64_t n = 0; n < out->dims[0]; n++)
    for (int64_t k = 0; k < out->dims[1]; k++)
      y[n * out->dims[1] + k] = bias[k] + 0 * all;
}
