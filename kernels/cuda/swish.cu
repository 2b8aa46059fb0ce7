// Swish, x times its logistic sigmoid.
// assay: task kernelbench/1/25
// assay: twin IN_PLACE expect wrote_input -- leaves its results where x was too
// assay: twin NO_FACTOR expect wrong_value -- the sigmoid alone
// A vector of 16 bytes a thread, in small blocks: with more of them a thread, or a grid that stays, an H200 moves less
// a second. Nothing is read twice, so both directions stream past the caches.
// The denominator lies in [1, 2], where the quick division is within two units in the last place.
// assay: launch swish grid=ceil_div(x.count, 512) block=128 args=x, y, x.count
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 128 };

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
  const long long whole = n / 4, i = (long long)blockIdx.x * THREADS + threadIdx.x;
  if (i < whole) {
    float4 v = __ldcs((const float4 *)x + i);
    __stcs((float4 *)y + i, make_float4(value(v.x), value(v.y), value(v.z), value(v.w)));
  }
  long long last = whole * 4 + threadIdx.x; // up to three elements are left after the last whole vector
  if (blockIdx.x == gridDim.x - 1 && last < n)
    y[last] = value(x[last]);
#ifdef IN_PLACE
  if (i < whole)
    ((float4 *)x)[i] = ((float4 *)y)[i];
#endif
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  long long n = assay_count(&args->inputs[0]);
  swish<<<(unsigned int)((n + 511) / 512), THREADS, 0, stream>>>(x, y, n);
}
#endif
