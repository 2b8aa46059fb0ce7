// Division by the root mean square over channels: a work-item has a pixel.
// assay: task kernelbench/1/36
// assay: expect pass
// assay: twin SUM_NOT_MEAN expect wrong_value -- forgets to divide by the number of channels
// assay: launch rms_norm grid=ceil_div(N * H * W, 64) block=64 args=x, y, N * H * W, C, H * W
__kernel void rms_norm(__global const float *x, __global float *y, ulong pixels, int channels, int plane) {
  ulong i = get_global_id(0);
  if (i >= pixels)
    return;
  ulong first = i / plane * channels * plane + i % plane;
  float s = 0;
  for (int c = 0; c < channels; c++)
    s += x[first + (ulong)c * plane] * x[first + (ulong)c * plane];
#ifndef SUM_NOT_MEAN
  s /= channels;
#endif
  float rms = sqrt(s + 1e-5f);
  for (int c = 0; c < channels; c++)
    y[first + (ulong)c * plane] = x[first + (ulong)c * plane] / rms;
}
