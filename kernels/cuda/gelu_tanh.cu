// Gaussian error linear unit, tanh form: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
// assay: task kernelbench/1/88
// assay: twin APPROXIMATE expect low_precision|wrong_value -- the tanh instruction with 11 bits
// assay: twin NO_CUBE expect wrong_value -- leaves the cubic term out
// A vector of 16 bytes a thread, in small blocks: with more of them a thread, or a grid that stays, an H200 moves less
// a second. Nothing is read twice, so both directions stream past the caches.
// (1 + tanh u)/2 is 1 / (1 + e^-2u), which does not cancel for negative x and costs one exponential.
// assay: launch gelu_tanh grid=ceil_div(x.count, 512) block=128 args=x, y, x.count
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 128 };

static __device__ float value(float x) {
#if defined(APPROXIMATE)
  float t;
  asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(0.7978845608f * (x + 0.044715f * x * x * x)));
  return 0.5f * x * (1 + t);
#elif defined(NO_CUBE)
  return x / (1 + expf(-1.5957691216f * x));
#else
  return x / (1 + expf(-1.5957691216f * (x + 0.044715f * x * x * x)));
#endif
}

__global__ void __launch_bounds__(THREADS) gelu_tanh(const float *__restrict__ x, float *__restrict__ y, long long n) {
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
  gelu_tanh<<<(unsigned int)((n + 511) / 512), THREADS, 0, stream>>>(x, y, n);
}
#endif
