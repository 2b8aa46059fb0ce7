// Matrix product by tiles of 16 by 16 in local memory.
// assay: task kernelbench/1/2
// assay: expect pass
// assay: twin LAST_TILE expect wrong_value -- leaves out the last tile of terms
// assay: twin HALVES expect low_precision|wrong_value -- operands rounded to half precision's 10 bits
// assay: twin NO_ROW_CHECK expect out_of_bounds|wrong_value -- writes whole tiles
// assay: launch matmul grid=ceil_div(N, 16),ceil_div(M, 16) block=16,16 args=a, b, y, M, K, N
float operand(float v) {
#ifdef HALVES
  return as_float((as_uint(v) + 0xfffu + (as_uint(v) >> 13 & 1)) & 0xffffe000u);
#else
  return v;
#endif
}
__kernel void matmul(__global const float *a, __global const float *b, __global float *y, int m, int k, int n) {
  __local float ta[16][16], tb[16][16];
  int tx = (int)get_local_id(0), ty = (int)get_local_id(1);
  int i = (int)get_group_id(1) * 16 + ty, j = (int)get_group_id(0) * 16 + tx;
  float sum = 0;
#ifdef LAST_TILE
  for (int l = 0; l + 16 < k; l += 16) {
#else
  for (int l = 0; l < k; l += 16) {
#endif
    ta[ty][tx] = i < m && l + tx < k ? operand(a[(ulong)i * k + l + tx]) : 0;
    tb[ty][tx] = j < n && l + ty < k ? operand(b[(ulong)(l + ty) * n + j]) : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int p = 0; p < 16; p++)
      sum += ta[ty][p] * tb[p][tx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#ifdef NO_ROW_CHECK
  if (j < n)
#else
  if (i < m && j < n)
#endif
    y[(ulong)i * n + j] = sum;
}
