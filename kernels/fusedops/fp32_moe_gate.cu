// Router of a mixture of experts, a block a row: logits in double (a gate is a ratio of exponentials), softmax, the
// eight largest gates by eight searches, divided by their sum.
// assay: task fusedops/moe_gate/fp32_moe_gate
// assay: twin ALL_GATES expect wrong_value|low_precision -- divided by the sum of all
// assay: twin SEVEN expect wrong_value|low_precision|wrong_class -- the last gate is the next one
// assay: require E <= 1024 -- the logits of a row are in shared memory
// assay: launch gate grid=R block=256 args=x, w, y, D, E
__global__ void gate(const float *x, const float *w, float *y, int d, int experts) {
  __shared__ double logits[1024];
  __shared__ double chosen[9];
  x += (long long)blockIdx.x * d;
  for (int e = threadIdx.x; e < experts; e += 256) {
    double sum = 0;
    for (int i = 0; i < d; i++)
      sum += (double)x[i] * w[(long long)i * experts + e];
    logits[e] = sum;
  }
  __syncthreads();
  if (threadIdx.x > 0)
    return;
  double largest = logits[0], all = 0, eight = 0;
  for (int e = 1; e < experts; e++)
    largest = fmax(largest, logits[e]);
  for (int e = 0; e < experts; e++) {
    logits[e] = exp(logits[e] - largest);
    all += logits[e];
  }
  for (int g = 0; g < 9; g++) {
    int best = 0;
    for (int e = 1; e < experts; e++)
      best = logits[e] > logits[best] ? e : best;
    chosen[g] = fmax(logits[best], 0.0);
    logits[best] = -1;
    eight += g < 8 ? chosen[g] : 0;
  }
#ifdef ALL_GATES
  eight = all;
#endif
#ifdef SEVEN
  chosen[7] = chosen[8];
#endif
  for (int g = 0; g < 8; g++)
    y[blockIdx.x * 8ll + g] = (float)(chosen[g] / eight);
}
