// Hyperbolic tangent.
// assay: task kernelbench/1/22
// assay: twin APPROXIMATE expect low_precision|wrong_value -- the instruction with 11 bits
// assay: twin EXP_FORM expect wrong_class|wrong_value -- (e^2x - 1) / (e^2x + 1): Inf / Inf for large x, cancels near 0
// A thread has four vectors of 16 bytes on their way before it uses the first; nothing is read twice, so both
// directions stream past the caches. As fast as memory can be copied.
// assay: launch hyperbolic_tangent grid=ceil_div(x.count, 4096) block=256 args=x, y, x.count
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 256, LOADS = 4 };

static __device__ float value(float x) {
#if defined(APPROXIMATE)
  float t;
  asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(x));
  return t;
#elif defined(EXP_FORM)
  float e = expf(2 * x);
  return (e - 1) / (e + 1);
#else
  return tanhf(x);
#endif
}

__global__ void __launch_bounds__(THREADS)
    hyperbolic_tangent(const float *__restrict__ x, float *__restrict__ y, long long n) {
  const long long whole = n / 4, first = (long long)blockIdx.x * LOADS * THREADS + threadIdx.x;
  const float4 *from = (const float4 *)x + first;
  float4 *to = (float4 *)y + first;
  float4 v[LOADS];
#pragma unroll
  for (int i = 0; i < LOADS; i++)
    if (first + i * THREADS < whole)
      v[i] = __ldcs(&from[i * THREADS]);
#pragma unroll
  for (int i = 0; i < LOADS; i++)
    if (first + i * THREADS < whole)
      __stcs(&to[i * THREADS], make_float4(value(v[i].x), value(v[i].y), value(v[i].z), value(v[i].w)));
  long long last = whole * 4 + threadIdx.x; // up to three elements are left behind the last whole vector
  if (blockIdx.x == gridDim.x - 1 && last < n)
    y[last] = value(x[last]);
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  long long n = assay_count(&args->inputs[0]);
  hyperbolic_tangent<<<(unsigned int)((n + 4095) / 4096), THREADS, 0, stream>>>(x, y, n);
}
#endif
