// Gaussian error linear unit.
// assay: task kernelbench/1/26
// assay: expect pass
// assay: twin TANH expect wrong_value|low_precision -- the formula with tanh, which is another function
// assay: launch gelu grid=ceil_div(x.count, 256) block=256 args=x, y, x.count
__kernel void gelu(__global const float *x, __global float *y, ulong n) {
  ulong i = get_global_id(0);
  if (i >= n)
    return;
  float v = x[i];
#ifdef TANH
  y[i] = 0.5f * v * (1 + tanh(0.797884561f * (v + 0.044715f * v * v * v)));
#else
  y[i] = 0.5f * v * erfc(-0.707106781f * v);
#endif
}
