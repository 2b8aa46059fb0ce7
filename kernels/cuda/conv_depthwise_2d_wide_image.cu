// Depthwise convolution of wide images with 3 x 3 kernels.
// assay: task kernelbench/1/84
// assay: twin BYTES at full expect wrong_value|out_of_bounds|wrong_class -- 32-bit byte offsets overflow
// A warp slides down 32 rows of 128 columns, four columns to a lane, with the rows above in registers: each input is
// read from memory once. Rows of outputs do not begin where float4s may, so they go through shared memory, from which
// lanes write neighbours. What limits it is the memory.
// assay: let blocks = ceil_div(y.3, 128) * ceil_div(y.2, 256)
// assay: launch depthwise<4> grid=blocks,N * 128 block=256 if=W % 4 == 0 args=x, w, y, H, W
// assay: launch depthwise<1> grid=blocks,N * 128 block=256 if=W % 4 != 0 args=x, w, y, H, W
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif
enum { KH = 3, KW = 3 };                  // taps
enum { CHANNELS = 128 };                  // planes of an image, each of which has its own taps
enum { COLUMNS = 128, ROWS = 32 };        // outputs of a warp, four columns to a lane
enum { BATCH = 4 };                       // rows at a time
enum { SPAN = (4 + KW - 1 + 3) / 4 * 4 }; // inputs that reach a lane's columns, and a few more to make it float4s

// SPAN inputs from column `c` of a row; zeros after the row's end, and all zeros where there is no such row.
template <int V> static __device__ void load_row(float (&to)[SPAN], const float *row, int c, int w, bool inside) {
  if (V == 4) {
#pragma unroll
    for (int i = 0; i < SPAN; i += 4) {
      float4 v = make_float4(0, 0, 0, 0);
      if (inside && c + i < w)
        v = __ldg((const float4 *)(row + c + i));
      to[i] = v.x, to[i + 1] = v.y, to[i + 2] = v.z, to[i + 3] = v.w;
    }
  } else {
#pragma unroll
    for (int i = 0; i < SPAN; i++)
      to[i] = inside && c + i < w ? __ldg(row + c + i) : 0;
  }
}

template <int V>
__global__ void __launch_bounds__(256)
    depthwise(const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ y, int in_h, int in_w) {
  __shared__ __align__(16) float stage[8][BATCH][COLUMNS];
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, out_h = in_h - KH + 1, out_w = in_w - KW + 1;
  const int strips = (out_w + COLUMNS - 1) / COLUMNS, plane = (int)blockIdx.y;
  const int first = (int)blockIdx.x % strips * COLUMNS, top = ((int)blockIdx.x / strips * 8 + warp) * ROWS;
  const int c = first + lane * 4, bottom = min(top + ROWS, out_h);
  float tap[KH][KW], window[KH - 1 + BATCH][SPAN];
#pragma unroll
  for (int i = 0; i < KH * KW; i++)
    tap[i / KW][i % KW] = __ldg(&w[plane % CHANNELS * (KH * KW) + i]);
#ifdef BYTES
  x = (const float *)((const char *)x + (unsigned int)plane * (unsigned int)(in_h * in_w) * 4);
#else
  x += (long long)plane * in_h * in_w;
#endif
  y += (long long)plane * out_h * out_w;
#pragma unroll
  for (int r = 0; r < KH - 1; r++)
    load_row<V>(window[r], x + (long long)(top + r) * in_w, c, in_w, top + r < in_h);
  for (int row = top; row < bottom; row += BATCH) {
#pragma unroll
    for (int r = 0; r < BATCH; r++) {
      int from = row + KH - 1 + r;
      load_row<V>(window[KH - 1 + r], x + (long long)from * in_w, c, in_w, from < in_h);
    }
    __syncwarp();
#pragma unroll
    for (int r = 0; r < BATCH; r++) {
      float sum[4] = {};
#pragma unroll
      for (int i = 0; i < KH; i++)
#pragma unroll
        for (int j = 0; j < KW; j++)
#pragma unroll
          for (int k = 0; k < 4; k++)
            sum[k] += window[r + i][j + k] * tap[i][j];
      *(float4 *)&stage[warp][r][lane * 4] = make_float4(sum[0], sum[1], sum[2], sum[3]);
    }
    __syncwarp();
#pragma unroll
    for (int r = 0; r < BATCH; r++) {
      float *to = y + (long long)(row + r) * out_w + first;
#pragma unroll
      for (int i = lane; i < COLUMNS; i += 32)
        if (row + r < bottom && first + i < out_w)
          __stcs(&to[i], stage[warp][r][i]);
    }
#pragma unroll
    for (int r = 0; r < KH - 1; r++)
#pragma unroll
      for (int i = 0; i < SPAN; i++)
        window[r][i] = window[r + BATCH][i];
  }
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const int64_t *in = args->inputs[0].dims;
  const float *x = (const float *)args->inputs[0].data, *w = (const float *)args->inputs[1].data;
  float *y = (float *)args->outputs[0].data;
  int out_h = (int)in[2] - KH + 1, out_w = (int)in[3] - KW + 1;
  int blocks = (out_w + COLUMNS - 1) / COLUMNS * ((out_h + 8 * ROWS - 1) / (8 * ROWS));
  dim3 grid(blocks, (unsigned int)(in[0] * CHANNELS));
  if (in[3] % 4 == 0)
    depthwise<4><<<grid, 256, 0, stream>>>(x, w, y, (int)in[2], (int)in[3]);
  else
    depthwise<1><<<grid, 256, 0, stream>>>(x, w, y, (int)in[2], (int)in[3]);
}
#endif
