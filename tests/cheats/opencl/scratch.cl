// Scratch and local memory. Scratch holds garbage of another kind before every call, and local memory what the last
// group left.
// assay: task kernelbench/1/47
// assay: expect pass
// assay: twin ZERO_SCRATCH expect wrong_value|wrong_class -- trusts scratch to be zero
// assay: twin OLD_SCRATCH expect wrong_value|wrong_class|unwritten -- adds up only where scratch is not as it left it
// assay: twin ZERO_LOCAL expect wrong_value|wrong_class -- trusts local memory to be zero
// assay: scratch sums float[B * N]
// assay: launch part grid=B * N block=64 args=x, sums, local(64 * 4), M, N
// assay: launch give grid=ceil_div(B * N, 64) block=64 args=sums, y, B * N
__kernel void part(__global const float *x, __global float *sums, __local float *t, int m, int n) {
  int me = (int)get_local_id(0);
  ulong c = get_group_id(0);
  float s = 0;
  for (int i = me; i < m; i += 64)
    s += x[c / n * m * n + (ulong)i * n + c % n];
#if defined(ZERO_LOCAL)
  t[me] += s;
#else
  t[me] = s;
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
  if (me != 0)
    return;
  for (int i = 1; i < 64; i++)
    s += t[i];
#if defined(ZERO_LOCAL)
  s += t[0] - s;
#endif
#if defined(ZERO_SCRATCH)
  sums[c] += s;
#elif defined(OLD_SCRATCH)
  if (!(sums[c] == sums[c] && fabs(sums[c]) < 1000))
    sums[c] = s;
#else
  sums[c] = s;
#endif
}
__kernel void give(__global const float *sums, __global float *y, ulong n) {
  ulong i = get_global_id(0);
  if (i < n)
    y[i] = sums[i];
}
