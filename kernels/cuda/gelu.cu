// Gaussian error linear unit, exact form: x/2 (1 + erf(x / sqrt 2)).
// assay: task kernelbench/1/26
// assay: twin TANH_FORM expect wrong_value -- the tanh approximation, off by up to 5e-4
// assay: twin NO_SQRT2 expect wrong_value -- erf(x) instead of erf(x / sqrt 2)
// A vector of 16 bytes a thread, in small blocks: with more of them a thread, or a grid that stays, an H200 moves less
// a second. Nothing is read twice, so both directions stream past the caches.
// assay: launch gelu grid=ceil_div(x.count, 512) block=128 args=x, y, x.count
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 128 };

static __device__ float value(float x) {
#if defined(TANH_FORM)
  return 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
#elif defined(NO_SQRT2)
  return 0.5f * x * (1 + erff(x));
#else
  return 0.5f * x * (1 + erff(x * 0.70710678118f));
#endif
}

__global__ void __launch_bounds__(THREADS) gelu(const float *__restrict__ x, float *__restrict__ y, long long n) {
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
  gelu<<<(unsigned int)((n + 511) / 512), THREADS, 0, stream>>>(x, y, n);
}
#endif
