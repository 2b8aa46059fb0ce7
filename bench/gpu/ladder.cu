// SPDX-License-Identifier: Apache-2.0
// A ReLU that lasts for NANOSECONDS, for bench/gpu/timing.py. With NANOSECONDS=0 it moves memory only.
// assay: task kernelbench/1/19
// assay: launch relu grid=min(ceil_div(x.count, 1024), 1056) block=256 args=x, y, x.count
#ifndef NANOSECONDS
#define NANOSECONDS 0
#endif

static __device__ unsigned long long now() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

__global__ void __launch_bounds__(256) relu(const float *__restrict__ x, float *__restrict__ y, long long count) {
  unsigned long long start = NANOSECONDS > 0 ? now() : 0;
  long long threads = (long long)gridDim.x * 256, whole = count / 4;
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < whole; i += threads) {
    float4 v = ((const float4 *)x)[i];
    ((float4 *)y)[i] = make_float4(v.x < 0 ? 0 : v.x, v.y < 0 ? 0 : v.y, v.z < 0 ? 0 : v.z, v.w < 0 ? 0 : v.w);
  }
  for (long long i = whole * 4 + blockIdx.x * 256ll + threadIdx.x; i < count; i += threads)
    y[i] = x[i] < 0 ? 0 : x[i];
  while (NANOSECONDS > 0 && now() - start < NANOSECONDS)
    ;
}
