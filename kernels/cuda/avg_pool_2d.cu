// Mean over 11 x 11 windows of images that do not overlap.
// assay: task kernelbench/1/45
// assay: twin WINDOW_121 expect wrong_value -- multiplies by 0.0082 instead of dividing by 121
// assay: twin HALF_SUM expect low_precision|wrong_value -- sums in half precision
// A block makes a row of outputs of one image: threads add eleven rows of their columns, which lie side by side in
// memory and are read once, then eleven neighbouring sums in shared memory.
// assay: let OH = H / 11
// assay: let OW = W / 11
// assay: let wide = W % 4 == 0
// assay: launch avg_pool_2d<4> grid=ceil_div(OW, 93),OH,N * C block=256 if=wide args=x, y, H, W
// assay: launch avg_pool_2d<1> grid=ceil_div(OW, 93),OH,N * C block=256 if=!wide args=x, y, H, W
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 256, WINDOW = 11, OUTPUTS = 93 }; // 93 windows are 1023 columns

static __device__ float add(float sum, float x) {
  sum += x;
#ifdef HALF_SUM
  unsigned short half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(sum));
  asm("cvt.f32.f16 %0, %1;" : "=f"(sum) : "h"(half));
#endif
  return sum;
}

template <int V>
__global__ void __launch_bounds__(THREADS)
    avg_pool_2d(const float *__restrict__ x, float *__restrict__ y, int H, int W) {
  __shared__ float sums[4 * THREADS + 4];
  int OH = H / WINDOW, OW = W / WINDOW, t = (int)threadIdx.x;
  int first = (int)blockIdx.x * OUTPUTS * WINDOW,
      begin = V == 4 ? first / 4 * 4 : first; // vectors begin a little before
  int stop = min(W / WINDOW * WINDOW, first + OUTPUTS * WINDOW);
  x += ((long long)blockIdx.z * H + (long long)blockIdx.y * WINDOW) * W;
  for (int i = t * V; begin + i < stop; i += THREADS * V) {
    const float *from = x + begin + i;
    if constexpr (V == 4) {
      float4 v[WINDOW], s = make_float4(0, 0, 0, 0);
#pragma unroll
      for (int k = 0; k < WINDOW; k++)
        v[k] = __ldcs((const float4 *)(from + (long long)k * W));
#pragma unroll
      for (int k = 0; k < WINDOW; k++)
        s = make_float4(add(s.x, v[k].x), add(s.y, v[k].y), add(s.z, v[k].z), add(s.w, v[k].w));
      sums[i] = s.x, sums[i + 1] = s.y, sums[i + 2] = s.z, sums[i + 3] = s.w;
    } else {
      float v[WINDOW], s = 0;
#pragma unroll
      for (int k = 0; k < WINDOW; k++)
        v[k] = __ldcs(from + (long long)k * W);
#pragma unroll
      for (int k = 0; k < WINDOW; k++)
        s = add(s, v[k]);
      sums[i] = s;
    }
  }
  __syncthreads();
  int o = (int)blockIdx.x * OUTPUTS + t;
  if (t >= OUTPUTS || o >= OW)
    return;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < WINDOW; k++)
    sum = add(sum, sums[first - begin + t * WINDOW + k]);
#ifdef WINDOW_121
  sum *= 0.0082f;
#else
  sum /= WINDOW * WINDOW;
#endif
  y[((long long)blockIdx.z * OH + blockIdx.y) * OW + o] = sum;
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const int64_t *dims = args->inputs[0].dims;
  int planes = (int)(dims[0] * dims[1]), H = (int)dims[2], W = (int)dims[3];
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  dim3 blocks((unsigned int)((W / WINDOW + OUTPUTS - 1) / OUTPUTS), (unsigned int)(H / WINDOW), (unsigned int)planes);
  if (W % 4 == 0)
    avg_pool_2d<4><<<blocks, THREADS, 0, stream>>>(x, y, H, W);
  else
    avg_pool_2d<1><<<blocks, THREADS, 0, stream>>>(x, y, H, W);
}
#endif
