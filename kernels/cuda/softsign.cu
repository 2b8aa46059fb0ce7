// Softsign, x / (1 + |x|).
// assay: task kernelbench/1/30
// assay: twin HALF expect low_precision -- rounds the result to half precision
// assay: twin NO_ABS expect wrong_value|wrong_class -- x / (1 + x): a pole at -1
// A vector of 16 bytes a thread, in small blocks: with more of them a thread, or a grid that stays, an H200 moves less
// a second. Nothing is read twice, so both directions stream past the caches.
// assay: launch softsign grid=ceil_div(x.count, 512) block=128 args=x, y, x.count
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 128 };

#ifdef HALF
// x rounded to 11 significant bits, as half precision has.
static __device__ float halved(float x) {
  return __uint_as_float((__float_as_uint(x) + 0x1000u) & 0xFFFFE000u);
}
#endif

static __device__ float value(float x) {
#if defined(HALF)
  return halved(x / (1 + fabsf(x)));
#elif defined(NO_ABS)
  return x / (1 + x);
#else
  return x / (1 + fabsf(x)); // the quick division is 0 for divisors from 2^126 on
#endif
}

__global__ void __launch_bounds__(THREADS) softsign(const float *__restrict__ x, float *__restrict__ y, long long n) {
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
  softsign<<<(unsigned int)((n + 511) / 512), THREADS, 0, stream>>>(x, y, n);
}
#endif
