// Logistic sigmoid that neither overflows nor loses the small results of very negative x.
// assay: task kernelbench/1/21
// assay: twin OVERFLOWS expect wrong_class -- e^x / (1 + e^x) for every x: Inf / Inf from x = 89 on
// assay: twin FLUSHES expect wrong_value|low_precision -- results below 2^-24 are zero
// A vector of 16 bytes a thread, in small blocks: with more of them a thread, or a grid that stays, an H200 moves less
// a second. Nothing is read twice, so both directions stream past the caches.
// The denominator lies in [1, 2], where the quick division is within two units in the last place.
// assay: launch sigmoid grid=ceil_div(x.count, 512) block=128 args=x, y, x.count
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 128 };

static __device__ float value(float x) {
#ifdef OVERFLOWS
  return expf(x) / (1 + expf(x));
#else
  float e = expf(-fabsf(x)); // in (0, 1]
  float s = __fdividef(x < 0 ? e : 1, 1 + e);
#ifdef FLUSHES
  s = s < 0x1p-24f ? 0 : s;
#endif
  return s;
#endif
}

__global__ void __launch_bounds__(THREADS) sigmoid(const float *__restrict__ x, float *__restrict__ y, long long n) {
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
  sigmoid<<<(unsigned int)((n + 511) / 512), THREADS, 0, stream>>>(x, y, n);
}
#endif
