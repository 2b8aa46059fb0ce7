// Matrix times vector: every row in up to 32 pieces, whose sums are scratch and are added by a second launch.
// assay: task kernelbench/1/4
// assay: expect pass
// assay: twin ONE_PIECE_SHORT expect wrong_value|wrong_class -- the second launch leaves out the last piece
// assay: twin OTHER_ROW expect wrong_value|wrong_class -- reads the sums as if they lay the other way round
// assay: let pieces = min(32, ceil_div(K, 64))
// assay: scratch sums float[M * pieces]
// assay: launch pieces grid=pieces,M block=1 args=a, b, sums, K, pieces
// assay: launch total grid=ceil_div(M, 64) block=64 args=sums, y, M, pieces
__kernel void pieces(__global const float *a, __global const float *b, __global float *sums, int k, int n) {
  int piece = (int)get_group_id(0), row = (int)get_group_id(1), share = (k + n - 1) / n;
  float s = 0;
  for (int i = piece * share; i < min(k, (piece + 1) * share); i++)
    s += a[(ulong)row * k + i] * b[i];
  sums[row * n + piece] = s;
}
__kernel void total(__global const float *sums, __global float *y, int m, int n) {
  int row = (int)get_global_id(0), count = n;
  if (row >= m)
    return;
#ifdef ONE_PIECE_SHORT
  count--;
#endif
  float s = 0;
  for (int i = 0; i < count; i++)
#ifdef OTHER_ROW
    s += sums[i * m + row];
#else
    s += sums[row * n + i];
#endif
  y[row] = s;
}
