// Where the largest element of the middle dimension is; the first one when there are several, and NaN is the largest.
// assay: task kernelbench/1/51
// assay: expect pass
// assay: twin LAST_ONE expect wrong_value -- the last of several
// assay: twin INT32 expect wrong_value|unwritten -- 32-bit indices into a 64-bit output
// assay: launch argmax grid=ceil_div(B * N, 64) block=64 args=x, y, B * N, M, N
__kernel void argmax(__global const float *x, __global long *y, ulong count, int m, int n) {
  ulong i = get_global_id(0);
  if (i >= count)
    return;
  ulong first = i / n * m * n + i % n;
  long at = 0;
  float top = x[first];
  for (int r = 1; r < m; r++) {
    float v = x[first + (ulong)r * n];
#ifdef LAST_ONE
    if (v >= top || isnan(v)) {
#else
    if (v > top || (isnan(v) && !isnan(top))) {
#endif
      top = v;
      at = r;
    }
  }
#ifdef INT32
  ((__global int *)y)[i] = (int)at;
#else
  y[i] = at;
#endif
}
