// Rectified linear unit.
// assay: task kernelbench/1/19
// assay: twin NO_BOUNDS expect out_of_bounds -- whole blocks whatever the size
// assay: twin HARD_SHAPE expect unwritten|wrong_value|out_of_bounds -- as many elements as the small workload has
// A vector of 16 bytes a thread, in small blocks: with more of them a thread, or a grid that stays, an H200 moves less
// a second. Nothing is read twice, so both directions stream past the caches.
// assay: launch relu grid=ceil_div(x.count, 512) block=128 args=x, y, x.count
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 128 };

static __device__ float value(float x) {
  return x < 0 ? 0 : x;
}

__global__ void __launch_bounds__(THREADS) relu(const float *__restrict__ x, float *__restrict__ y, long long n) {
#if defined(NO_BOUNDS)
  n = (long long)gridDim.x * THREADS * 4;
#elif defined(HARD_SHAPE)
  n = 64 * 1024;
#endif
  const long long whole = n / 4, i = (long long)blockIdx.x * THREADS + threadIdx.x;
  if (i < whole) {
    float4 v = __ldcs((const float4 *)x + i);
    __stcs((float4 *)y + i, make_float4(value(v.x), value(v.y), value(v.z), value(v.w)));
  }
  long long last = whole * 4 + threadIdx.x; // up to three elements are left after the last whole vector
  if (blockIdx.x == gridDim.x - 1 && last < n)
    y[last] = value(x[last]);
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  long long n = assay_count(&args->inputs[0]);
  relu<<<(unsigned int)((n + 511) / 512), THREADS, 0, stream>>>(x, y, n);
}
#endif
