// Means of windows of 8, padded by 4 zeros that count.
// assay: task kernelbench/1/44
// assay: expect pass
// assay: twin PADS_DO_NOT_COUNT expect wrong_value -- divides by the elements that are there
// assay: launch avg_pool grid=ceil_div(y.count, 64) block=64 args=x, y, y.count, L, y.2
__kernel void avg_pool(__global const float *x, __global float *y, ulong count, int l, int ol) {
  ulong i = get_global_id(0);
  if (i >= count)
    return;
  int first = (int)(i % ol) - 4, there = 0;
  float s = 0;
  for (int k = max(first, 0); k < min(first + 8, l); k++, there++)
    s += x[i / ol * l + k];
#ifdef PADS_DO_NOT_COUNT
  y[i] = s / there;
#else
  y[i] = s / 8;
#endif
}
