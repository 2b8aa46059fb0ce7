// Clamps to [-1, 1].
// assay: task kernelbench/1/32
// assay: twin BYTES32 at full expect unwritten|wrong_value -- 32-bit offsets, in bytes
// assay: twin ONE_SIDE expect wrong_value -- no lower limit
// A thread has four vectors of 16 bytes on their way before it uses the first; nothing is read twice, so both
// directions stream past the caches. As fast as memory can be copied.
// assay: launch hard_tanh grid=ceil_div(x.count, 4096) block=256 args=x, y, x.count
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 256, LOADS = 4 };

static __device__ float value(float x) {
#ifdef ONE_SIDE
  return fminf(x, 1);
#else
  return fminf(fmaxf(x, -1), 1);
#endif
}

__global__ void __launch_bounds__(THREADS) hard_tanh(const float *__restrict__ x, float *__restrict__ y, long long n) {
#ifdef BYTES32
  y = (float *)((char *)y + (unsigned int)((long long)blockIdx.x * LOADS * THREADS * 16)) -
      (long long)blockIdx.x * LOADS * THREADS * 4;
#endif
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
  hard_tanh<<<(unsigned int)((n + 4095) / 4096), THREADS, 0, stream>>>(x, y, n);
}
#endif
