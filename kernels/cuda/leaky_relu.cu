// Leaky rectified linear unit of slope 0.01.
// assay: task kernelbench/1/20
// assay: twin WHOLE_VECTORS expect unwritten -- leaves out what is behind the last whole vector
// assay: twin BOTH_SIDES expect wrong_value -- scales positive elements
// A vector of 16 bytes a thread, in small blocks: with more of them a thread, or a grid that stays, an H200 moves less
// a second. Nothing is read twice, so both directions stream past the caches.
// assay: launch leaky_relu grid=ceil_div(x.count, 512) block=128 args=x, y, x.count
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 128 };

static __device__ float value(float x) {
#ifdef BOTH_SIDES
  return 0.01f * x;
#else
  return x < 0 ? 0.01f * x : x;
#endif
}

__global__ void __launch_bounds__(THREADS) leaky_relu(const float *__restrict__ x, float *__restrict__ y, long long n) {
#ifdef WHOLE_VECTORS
  n = n / 4 * 4;
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
  leaky_relu<<<(unsigned int)((n + 511) / 512), THREADS, 0, stream>>>(x, y, n);
}
#endif
