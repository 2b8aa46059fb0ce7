// Swish, x times its logistic sigmoid.
// assay: task kernelbench/1/25
// assay: twin IN_PLACE expect wrote_input -- leaves its results where x was too
// assay: twin NO_FACTOR expect wrong_value -- the sigmoid alone
// A thread has four vectors of 16 bytes on their way before it uses the first; nothing is read twice, so both
// directions stream past the caches. As fast as memory can be copied.
// The denominator lies in [1, 2], where the quick division is within two units in the last place.
// assay: launch swish grid=ceil_div(x.count, 4096) block=256 args=x, y, x.count
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 256, LOADS = 4 };

static __device__ float value(float x) {
  float e = expf(-fabsf(x)); // in (0, 1]: cannot overflow
  float s = __fdividef(x < 0 ? e : 1, 1 + e);
#ifdef NO_FACTOR
  return s;
#else
  return x * s;
#endif
}

__global__ void __launch_bounds__(THREADS) swish(const float *__restrict__ x, float *__restrict__ y, long long n) {
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
#ifdef IN_PLACE
  for (int i = 0; i < LOADS; i++)
    if (first + i * THREADS < whole)
      ((float4 *)x)[first + i * THREADS] = to[i * THREADS];
#endif
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  long long n = assay_count(&args->inputs[0]);
  swish<<<(unsigned int)((n + 4095) / 4096), THREADS, 0, stream>>>(x, y, n);
}
#endif
