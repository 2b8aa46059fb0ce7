// Layer normalisation: a work-group has a sample; mean first, then squares of what differs from it.
// assay: task kernelbench/1/40
// assay: expect pass
// assay: twin ONE_PASS expect wrong_value|wrong_class|low_precision -- variance as E[x^2] - E[x]^2
// assay: twin NO_EPSILON expect wrong_value|wrong_class -- divides by the bare deviation
// assay: launch layer_norm grid=N block=64 args=x, gamma, beta, y, local(64 * 4), C * H * W
float sum(__local float *t, float v) {
  uint me = get_local_id(0);
  t[me] = v;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = 32; k > 0; k /= 2) {
    if (me < k)
      t[me] += t[me + k];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  v = t[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return v;
}
__kernel void layer_norm(__global const float *x, __global const float *gamma, __global const float *beta,
                         __global float *y, __local float *t, int n) {
  ulong first = get_group_id(0) * (ulong)n;
  int me = (int)get_local_id(0);
  float s = 0, squares = 0, epsilon = 1e-5f;
  for (int i = me; i < n; i += 64)
    s += x[first + i];
  float mean = sum(t, s) / n;
#ifdef ONE_PASS
  for (int i = me; i < n; i += 64)
    squares += x[first + i] * x[first + i];
  float variance = sum(t, squares) / n - mean * mean;
#else
  for (int i = me; i < n; i += 64)
    squares += (x[first + i] - mean) * (x[first + i] - mean);
  float variance = sum(t, squares) / n;
#endif
#ifdef NO_EPSILON
  epsilon = 0;
#endif
  float scale = 1 / sqrt(variance + epsilon);
  for (int i = me; i < n; i += 64)
    y[first + i] = (x[first + i] - mean) * scale * gamma[i] + beta[i];
}
