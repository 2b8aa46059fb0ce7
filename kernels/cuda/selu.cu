// Scaled exponential linear unit.
// assay: task kernelbench/1/27
// assay: twin HALF_EXP expect low_precision|wrong_value -- the exponential in half precision
// assay: twin POSITIVE_ONLY expect wrong_value -- right where no input is negative
// A vector of 16 bytes a thread, in small blocks: with more of them a thread, or a grid that stays, an H200 moves less
// a second. Nothing is read twice, so both directions stream past the caches.
// assay: launch selu grid=ceil_div(x.count, 512) block=128 args=x, y, x.count
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 128 };

#define SCALE 1.0507009873554805f
#define ALPHA 1.6732632423543772f

#ifdef HALF_EXP
// x rounded to 11 significant bits, as half precision has.
static __device__ float halved(float x) {
  return __uint_as_float((__float_as_uint(x) + 0x1000u) & 0xFFFFE000u);
}
#endif

static __device__ float value(float x) {
#if defined(HALF_EXP)
  return SCALE * (x > 0 ? x : ALPHA * (halved(expf(x)) - 1));
#elif defined(POSITIVE_ONLY)
  return SCALE * x;
#else
  return SCALE * (x > 0 ? x : ALPHA * expm1f(x)); // expm1 keeps its digits near 0
#endif
}

__global__ void __launch_bounds__(THREADS) selu(const float *__restrict__ x, float *__restrict__ y, long long n) {
  const long long whole = n / 4, i = (long long)blockIdx.x * THREADS + threadIdx.x;
  if (i < whole) {
    float4 v = __ldcs((const float4 *)x + i);
    __stcs((float4 *)y + i, make_float4(value(v.x), value(v.y), value(v.z), value(v.w)));
  }
  long long last = whole * 4 + threadIdx.x; // up to three elements are left behind the last whole vector
  if (blockIdx.x == gridDim.x - 1 && last < n)
    y[last] = value(x[last]);
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  long long n = assay_count(&args->inputs[0]);
  selu<<<(unsigned int)((n + 511) / 512), THREADS, 0, stream>>>(x, y, n);
}
#endif
