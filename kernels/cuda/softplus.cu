// Softplus, log(1 + e^x), without overflow for large x and without losing the small results of negative x.
// assay: task kernelbench/1/29
// assay: twin NO_LOG1P expect wrong_value|low_precision -- log(1 + e^x): 0 for x < -17
// assay: twin OVERFLOWS expect wrong_class -- log1p(e^x) for every x
// A vector of 16 bytes a thread, in small blocks: with more of them a thread, or a grid that stays, an H200 moves less
// a second. Nothing is read twice, so both directions stream past the caches.
// assay: launch softplus grid=ceil_div(x.count, 512) block=128 args=x, y, x.count
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 128 };

static __device__ float value(float x) {
#if defined(OVERFLOWS)
  return log1pf(expf(x));
#elif defined(NO_LOG1P)
  return (x < 0 ? 0 : x) + logf(1 + expf(-fabsf(x)));
#else
  return (x < 0 ? 0 : x) + log1pf(expf(-fabsf(x)));
#endif
}

__global__ void __launch_bounds__(THREADS) softplus(const float *__restrict__ x, float *__restrict__ y, long long n) {
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
  softplus<<<(unsigned int)((n + 511) / 512), THREADS, 0, stream>>>(x, y, n);
}
#endif
