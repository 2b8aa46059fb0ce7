// Convolution of images with kernels of 5 by 7, an output element a work-item. Weights are turned round once, so that
// neighbouring work-items read neighbouring ones.
// assay: task kernelbench/1/56
// assay: expect pass
// assay: twin TRUE_CONVOLUTION expect wrong_value|wrong_class -- the kernel upside down
// assay: twin ONE_CHANNEL_SHORT expect wrong_value|wrong_class -- leaves out the last input channel
// assay: scratch turned float[w.count]
// assay: launch turn grid=ceil_div(w.count, 64) block=64 args=w, turned, CO, CI
// assay: prepare
// assay: launch conv grid=ceil_div(CO, 8),y.2 * y.3,N block=8 args=x, turned, y, CI, CO, H, W, y.2, y.3
__kernel void turn(__global const float *w, __global float *turned, int co, int ci) {
  int i = (int)get_global_id(0), taps = ci * 35;
  if (i < co * taps)
    turned[i % taps * co + i / taps] = w[i];
}
__kernel void conv(__global const float *x, __global const float *w, __global float *y, int ci, int co, int h, int width,
                   int oh, int ow) {
  int o = (int)get_global_id(0), r = (int)get_group_id(1) / ow, c = (int)get_group_id(1) % ow;
  int n = (int)get_group_id(2), used = ci;
  if (o >= co)
    return;
#ifdef ONE_CHANNEL_SHORT
  used--;
#endif
  float s = 0;
  for (int i = 0; i < used; i++)
    for (int k = 0; k < 35; k++)
#ifdef TRUE_CONVOLUTION
      s += x[(((ulong)n * ci + i) * h + r + k / 7) * width + c + k % 7] * w[(i * 35 + 34 - k) * co + o];
#else
      s += x[(((ulong)n * ci + i) * h + r + k / 7) * width + c + k % 7] * w[(i * 35 + k) * co + o];
#endif
  y[(((ulong)n * co + o) * oh + r) * ow + c] = s;
}
