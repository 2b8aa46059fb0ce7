// Powers of ten with equal steps between two ends.
// assay: task kernelbenchx/Random/logspace
// assay: expect pass
// assay: twin OPEN expect wrong_value -- n steps in place of n - 1
// assay: launch powers grid=ceil_div(N, 64) block=64 args=start, end, like, y, N
__kernel void powers(__global const float *start, __global const float *end, __global const float *like, __global float *y, ulong n) {
  ulong i = get_global_id(0);
  if (i >= n)
    return;
#ifdef OPEN
  float step = (end[0] - start[0]) / (float)n;
#else
  float step = n > 1 ? (end[0] - start[0]) / (float)(n - 1) : 0;
#endif
  y[i] = pow(10.0f, 2 * i < n ? start[0] + step * (float)i : end[0] - step * (float)(n - 1 - i));
}
