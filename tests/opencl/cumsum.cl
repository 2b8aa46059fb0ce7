// Running sums along rows: a work-group has a row, whose pieces of 64 are scanned in local memory one after the other.
// assay: task kernelbench/1/89
// assay: expect pass
// assay: twin NO_CARRY expect wrong_value|wrong_class -- every piece begins at zero
// assay: twin EXCLUSIVE expect wrong_value|wrong_class -- without the element itself
// assay: launch cumsum grid=M block=64 args=x, y, local(64 * 4), N
__kernel void cumsum(__global const float *x, __global float *y, __local float *t, int n) {
  ulong row = get_group_id(0) * (ulong)n;
  int me = (int)get_local_id(0);
  float carry = 0;
  for (int first = 0; first < n; first += 64) {
    float own = first + me < n ? x[row + first + me] : 0;
    t[me] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 1; k < 64; k *= 2) {
      float before = me >= k ? t[me - k] : 0;
      barrier(CLK_LOCAL_MEM_FENCE);
      t[me] += before;
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (first + me < n)
#ifdef EXCLUSIVE
      y[row + first + me] = carry + t[me] - own;
#else
      y[row + first + me] = carry + t[me];
#endif
#ifndef NO_CARRY
    carry += t[63];
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
