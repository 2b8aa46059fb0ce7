// Sums over the middle dimension, neighbouring columns by neighbouring work-items.
// assay: task kernelbench/1/47
// assay: expect pass
// assay: twin ONE_ROW_SHORT expect wrong_value|wrong_class -- leaves out the last row
// assay: twin OTHER_AXIS expect wrong_value|wrong_class|out_of_bounds -- sums what lies side by side
// assay: launch sum_middle grid=ceil_div(B * N, 64) block=64 args=x, y, B * N, M, N
__kernel void sum_middle(__global const float *x, __global float *y, ulong count, int m, int n) {
  ulong i = get_global_id(0);
  if (i >= count)
    return;
  ulong first = i / n * m * n + i % n;
  float s = 0;
#ifdef ONE_ROW_SHORT
  m--;
#endif
  for (int r = 0; r < m; r++)
#ifdef OTHER_AXIS
    s += x[i * m + r];
#else
    s += x[first + (ulong)r * n];
#endif
  y[i] = s;
}
