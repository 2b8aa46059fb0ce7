// Mean cross entropy: the loss of a row by a work-item, in scratch, and then their mean.
// assay: task kernelbench/1/95
// assay: expect pass
// assay: twin NO_MAX expect wrong_class|wrong_value -- no subtraction of the maximum
// assay: twin NEIGHBOUR expect wrong_value|wrong_class -- the class beside the right one
// assay: scratch losses float[B]
// assay: launch rows grid=ceil_div(B, 16) block=16 args=logits, labels, losses, B, C
// assay: launch mean grid=1 block=1 args=losses, y, B
__kernel void rows(__global const float *logits, __global const long *labels, __global float *losses, int b, int c) {
  int row = (int)get_global_id(0);
  if (row >= b)
    return;
  __global const float *x = logits + (ulong)row * c;
  float top = 0, s = 0;
  long label = labels[row];
#ifdef NEIGHBOUR
  label = (label + 1) % c;
#endif
#ifndef NO_MAX
  top = x[0];
  for (int i = 1; i < c; i++)
    top = fmax(top, x[i]);
#endif
  for (int i = 0; i < c; i++)
    s += exp(x[i] - top);
  losses[row] = log(s) - (x[label] - top);
}
__kernel void mean(__global const float *losses, __global float *y, int b) {
  float s = 0;
  for (int i = 0; i < b; i++)
    s += losses[i];
  *y = s / b;
}
