// Rectified linear unit, four elements a work-item.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin NO_BOUNDS expect out_of_bounds -- whole work-groups whatever the size
// assay: twin HALF expect unwritten -- the second half is left
// assay: launch relu grid=ceil_div(x.count, 1024) block=256 args=x, y, x.count
__kernel void relu(__global const float *x, __global float *y, ulong n) {
#if defined(NO_BOUNDS)
  n = get_global_size(0) * 4;
#elif defined(HALF)
  n /= 2;
#endif
  for (ulong i = get_global_id(0) * 4, end = min(i + 4, n); i < end; i++)
    y[i] = x[i] < 0 ? 0 : x[i];
}
