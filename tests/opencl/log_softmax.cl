// Logarithm of the softmax over rows, a row a work-item; maximum and sum in one sweep.
// assay: task kernelbench/1/24
// assay: expect pass
// assay: twin LOG_OF_SOFTMAX expect wrong_class|wrong_value -- the logarithm of a quotient that underflows
// assay: launch log_softmax grid=ceil_div(M, 8) block=8 args=x, y, M, N
__kernel void log_softmax(__global const float *x, __global float *y, int m, int n) {
  ulong row = get_global_id(0) * (ulong)n;
  if (get_global_id(0) >= m)
    return;
  float top = x[row], s = 1;
  for (int i = 1; i < n; i++) {
    float v = x[row + i], higher = fmax(top, v);
    s = s * exp(top - higher) + exp(v - higher);
    top = higher;
  }
  for (int i = 0; i < n; i++)
#ifdef LOG_OF_SOFTMAX
    y[row + i] = log(exp(x[row + i] - top) / s);
#else
    y[row + i] = x[row + i] - top - log(s);
#endif
}
