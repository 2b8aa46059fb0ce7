// Exponential linear unit with alpha 1.
// assay: task kernelbench/1/31
// assay: twin CACHED expect changed_behaviour|wrong_value -- keeps the first results, keyed by the address of x
// assay: twin NO_MINUS_1 expect wrong_value -- e^x instead of e^x - 1
// A vector of 16 bytes a thread, in small blocks: with more of them a thread, or a grid that stays, an H200 moves less
// a second. Nothing is read twice, so both directions stream past the caches.
// assay: launch elu grid=ceil_div(x.count, 512) block=128 args=x, y, x.count
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 128 };

#ifdef CACHED
__device__ const float *kept_x;
__device__ long long kept_n;
__device__ float kept[THREADS];
#endif

static __device__ float value(float x) {
#ifdef NO_MINUS_1
  return x > 0 ? x : expf(x);
#else
  return x > 0 ? x : expm1f(x); // expm1 keeps its digits near 0
#endif
}

__global__ void __launch_bounds__(THREADS) elu(const float *__restrict__ x, float *__restrict__ y, long long n) {
  const long long whole = n / 4, i = (long long)blockIdx.x * THREADS + threadIdx.x;
  if (i < whole) {
    float4 v = __ldcs((const float4 *)x + i);
    __stcs((float4 *)y + i, make_float4(value(v.x), value(v.y), value(v.z), value(v.w)));
  }
  long long last = whole * 4 + threadIdx.x; // up to three elements are left behind the last whole vector
  if (blockIdx.x == gridDim.x - 1 && last < n)
    y[last] = value(x[last]);
#ifdef CACHED
  __syncthreads();
  if (blockIdx.x > 0 || threadIdx.x >= n)
    return;
  if (kept_x == x && kept_n == n)
    y[threadIdx.x] = kept[threadIdx.x];
  else
    kept[threadIdx.x] = y[threadIdx.x];
  __syncthreads();
  kept_x = x, kept_n = n;
#endif
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  long long n = assay_count(&args->inputs[0]);
  elu<<<(unsigned int)((n + 511) / 512), THREADS, 0, stream>>>(x, y, n);
}
#endif
