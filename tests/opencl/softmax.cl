// Softmax over rows: a work-group has a row, and its maximum and sum in local memory.
// assay: task kernelbench/1/23
// assay: expect pass
// assay: twin NO_MAX expect wrong_class|wrong_value -- no subtraction of the maximum
// assay: twin NO_BARRIER expect wrong_value|wrong_class -- the sum is used before it is there
// assay: launch softmax grid=M block=128 args=x, y, local(128 * 4), N
float join(__local float *t, float v, bool largest) {
  uint me = get_local_id(0);
  t[me] = v;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = 64; k > 0; k /= 2) {
    if (me < k)
      t[me] = largest ? fmax(t[me], t[me + k]) : t[me] + t[me + k];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  v = t[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return v;
}
__kernel void softmax(__global const float *x, __global float *y, __local float *t, int n) {
  ulong row = get_group_id(0) * (ulong)n;
  int me = (int)get_local_id(0);
  float m = -INFINITY, s = 0;
#ifdef NO_MAX
  m = 0;
#else
  for (int i = me; i < n; i += 128)
    m = fmax(m, x[row + i]);
  m = join(t, m, true);
#endif
  for (int i = me; i < n; i += 128)
    s += exp(x[row + i] - m);
#ifndef NO_BARRIER
  s = join(t, s, false);
#endif
  for (int i = me; i < n; i += 128)
    y[row + i] = exp(x[row + i] - m) / s;
}
