// The compiler's own short cuts, for a softmax: what they cost is measured like any other error.
// assay: task kernelbench/1/23
// assay: expect pass|wrong_class -- not-a-numbers and infinities may be lost
// assay: twin BITS expect low_precision|wrong_value -- the exponential from the bits of an integer
// assay: option -cl-fast-relaxed-math
// assay: option -cl-denorms-are-zero
// assay: launch softmax grid=M block=1 args=x, y, N
float power(float v) {
#if defined(BITS)
  return v < -80 ? 0 : as_float((int)(12102203.0f * v) + 1064866805);
#else
  return exp(v);
#endif
}
__kernel void softmax(__global const float *x, __global float *y, int n) {
  ulong row = get_group_id(0) * (ulong)n;
  float m = x[row], s = 0;
  for (int i = 1; i < n; i++)
    m = fmax(m, x[row + i]);
  for (int i = 0; i < n; i++)
    s += power(x[row + i] - m);
  for (int i = 0; i < n; i++)
    y[row + i] = power(x[row + i] - m) / s;
}
