// Mean squared error in two launches: sums of work-groups in scratch, then their mean.
// assay: task kernelbench/1/94
// assay: expect pass
// assay: twin ROOT expect wrong_value|wrong_class -- the root of the mean
// assay: twin TWICE expect wrong_value|wrong_class -- both halves of a symmetric formula
// assay: let groups = min(64, ceil_div(predictions.count, 256))
// assay: scratch sums float[groups]
// assay: fill sums 0
// assay: launch partial grid=groups block=64 args=predictions, targets, sums, local(64 * 4), predictions.count
// assay: launch mean grid=1 block=1 args=sums, y, groups, predictions.count
__kernel void partial(__global const float *a, __global const float *b, __global float *sums, __local float *t,
                      ulong n) {
  uint me = get_local_id(0);
  float s = 0;
  for (ulong i = get_global_id(0); i < n; i += get_global_size(0))
    s += (a[i] - b[i]) * (a[i] - b[i]);
  t[me] = s;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = 32; k > 0; k /= 2) {
    if (me < k)
      t[me] += t[me + k];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (me == 0)
    sums[get_group_id(0)] += t[0];
}
__kernel void mean(__global float *sums, __global float *y, int groups, ulong n) {
  float s = 0;
  for (int i = 0; i < groups; i++)
    s += sums[i];
#if defined(ROOT)
  *y = sqrt(s / n);
#elif defined(TWICE)
  *y = 2 * s / n;
#else
  *y = s / n;
#endif
}
