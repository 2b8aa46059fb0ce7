// Maxima of windows of 4 by 4, one pixel of padding.
// assay: task kernelbench/1/42
// assay: expect pass
// assay: twin PAD_WITH_ZERO expect wrong_value -- padding takes part as zero
// assay: launch max_pool grid=ceil_div(y.count, 64) block=64 args=x, y, y.count, H, W, y.2, y.3
__kernel void max_pool(__global const float *x, __global float *y, ulong count, int h, int w, int oh, int ow) {
  ulong i = get_global_id(0);
  if (i >= count)
    return;
  int c = (int)(i % ow) - 1, r = (int)(i / ow % oh) - 1;
  __global const float *plane = x + i / ow / oh * h * w;
  float top = -INFINITY;
  bool nan = false;
  for (int dr = 0; dr < 4; dr++)
    for (int dc = 0; dc < 4; dc++) {
      bool inside = r + dr >= 0 && r + dr < h && c + dc >= 0 && c + dc < w;
#ifdef PAD_WITH_ZERO
      float v = inside ? plane[(r + dr) * w + c + dc] : 0;
#else
      float v = inside ? plane[(r + dr) * w + c + dc] : -INFINITY;
#endif
      nan = nan || isnan(v);
      top = fmax(top, v);
    }
  y[i] = nan ? NAN : top;
}
