// Maximum over 4 x 4 windows of images, with a border of one.
// assay: task kernelbench/1/42
// assay: twin ZERO_PADDING expect wrong_value|changed_behaviour -- padding with zero instead of minus infinity
// assay: twin WINDOW_3 expect wrong_value -- the last row of a window does not count
// assay: twin NO_EDGE expect out_of_bounds|wrong_value|wrong_class -- reads beside the image
// A thread walks down a column of outputs: it takes the maximum of four neighbours of each row, which the cache of its
// SM gives to four threads, and keeps those of the last three rows in registers.
// assay: let OH = H - 1
// assay: let OW = W - 1
// assay: launch max_pool_2d grid=ceil_div(OW, 128),ceil_div(OH, 32),N * C block=128 args=x, y, H, W
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 128, STRIP = 32, ROWS = 4 };

#ifdef ZERO_PADDING
#define PADDING 0
#else
#define PADDING (-__int_as_float(0x7f800000)) // minus infinity
#endif

// The maximum of what a window covers of a row of the image.
static __device__ float across(const float *x, int row, int left, int H, int W) {
#ifdef NO_EDGE
  const float *from = x + (long long)row * W + left;
  return fmaxf(fmaxf(from[0], from[1]), fmaxf(from[2], from[3]));
#else
  if (row < 0 || row >= H)
    return PADDING;
  const float *from = x + (long long)row * W;
  float a = left >= 0 ? from[left] : PADDING, d = left + 3 < W ? from[left + 3] : PADDING;
  return fmaxf(fmaxf(a, from[left + 1]), fmaxf(left + 2 < W ? from[left + 2] : PADDING, d));
#endif
}

__global__ void __launch_bounds__(THREADS)
    max_pool_2d(const float *__restrict__ x, float *__restrict__ y, int H, int W) {
  int column = (int)(blockIdx.x * THREADS + threadIdx.x), row = (int)blockIdx.y * STRIP, OH = H - 1, OW = W - 1;
  if (column >= OW)
    return;
  int left = column - 1, stop = min(OH, row + STRIP);
  x += (long long)blockIdx.z * H * W;
  y += (long long)blockIdx.z * OH * OW + column;
  float m[ROWS + 3]; // of the rows from row - 1 on
#pragma unroll
  for (int i = 0; i < 3; i++)
    m[i] = across(x, row - 1 + i, left, H, W);
  for (; row < stop; row += ROWS) {
#pragma unroll
    for (int i = 0; i < ROWS; i++)
      m[3 + i] = across(x, row + 2 + i, left, H, W);
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
      float r = fmaxf(fmaxf(m[i], m[i + 1]), m[i + 2]);
#ifndef WINDOW_3
      r = fmaxf(r, m[i + 3]);
#endif
      if (row + i < stop)
        __stcs(&y[(long long)(row + i) * OW], r);
    }
#pragma unroll
    for (int i = 0; i < 3; i++)
      m[i] = m[ROWS + i];
  }
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const int64_t *dims = args->inputs[0].dims;
  int planes = (int)(dims[0] * dims[1]), H = (int)dims[2], W = (int)dims[3];
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  dim3 blocks((unsigned int)((W - 1 + THREADS - 1) / THREADS), (unsigned int)((H - 1 + STRIP - 1) / STRIP),
              (unsigned int)planes);
  max_pool_2d<<<blocks, THREADS, 0, stream>>>(x, y, H, W);
}
#endif
