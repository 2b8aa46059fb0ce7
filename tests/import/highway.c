// SPDX-License-Identifier: Apache-2.0
// A candidate for the task that modules/highway.py becomes; with NO_GATE a wrong one, which passes nothing through.
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>

static float row_product(const float *x, const float *w, const float *b, int64_t n, int64_t j) {
  float sum = b[j];
  for (int64_t k = 0; k < n; k++)
    sum += x[k] * w[j * n + k];
  return sum;
}

// Inputs: x; weight and bias of each value layer; weight and bias of each gate.
void assay_kernel(const struct assay_args *args) {
  const struct assay_tensor *in = args->inputs;
  int64_t m = in[0].dims[0], n = in[0].dims[1];
  int layers = (args->n_inputs - 1) / 4;
  float *row = malloc(2 * (size_t)n * sizeof *row), *next = row + n, *y = args->outputs[0].data;
  for (int64_t i = 0; i < m; i++) {
    for (int64_t k = 0; k < n; k++)
      row[k] = ((const float *)in[0].data)[i * n + k];
    for (int l = 0; l < layers; l++) {
      const struct assay_tensor *value = in + 1 + 2 * l, *gate = in + 1 + 2 * (layers + l);
      for (int64_t j = 0; j < n; j++) {
        float v = tanhf(row_product(row, value[0].data, value[1].data, n, j));
        float g = 1 / (1 + expf(-row_product(row, gate[0].data, gate[1].data, n, j)));
#ifdef NO_GATE
        next[j] = g * v;
#else
        next[j] = g * v + (1 - g) * row[j];
#endif
      }
      for (int64_t j = 0; j < n; j++)
        row[j] = next[j];
    }
    for (int64_t j = 0; j < n; j++)
      y[i * n + j] = row[j];
  }
  free(row);
}
