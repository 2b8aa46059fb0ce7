// Logarithm of the softmax over rows, a row a work-group: maximum and sum in one sweep, joined in local memory. Terms
// of very different size are added in short chains only: in one long chain, a large term makes small ones vanish.
// assay: task kernelbench/1/24
// assay: expect pass
// assay: twin LOG_OF_SOFTMAX expect wrong_class|wrong_value -- the logarithm of a quotient that underflows
// assay: launch log_softmax grid=M block=64 args=x, y, local(64 * 8), N
float2 join(float2 a, float2 b) { // maxima and the sums that belong to them
  float top = fmax(a.x, b.x);
  return a.y == 0 ? b : b.y == 0 ? a : (float2)(top, a.y * exp(a.x - top) + b.y * exp(b.x - top));
}
__kernel void log_softmax(__global const float *x, __global float *y, __local float2 *t, int n) {
  ulong row = get_group_id(0) * (ulong)n;
  int me = (int)get_local_id(0);
  float2 own = (float2)(-INFINITY, 0);
  for (int i = me; i < n; i += 64)
    own = join(own, (float2)(x[row + i], 1));
  t[me] = own;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 32; k > 0; k /= 2) {
    if (me < k)
      t[me] = join(t[me], t[me + k]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float top = t[0].x, s = t[0].y;
  for (int i = me; i < n; i += 64)
#ifdef LOG_OF_SOFTMAX
    y[row + i] = log(exp(x[row + i] - top) / s);
#else
    y[row + i] = x[row + i] - top - log(s);
#endif
}
