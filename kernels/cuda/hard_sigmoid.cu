// Piecewise linear sigmoid: x/6 + 1/2, no less than 0 and no more than 1.
// assay: task kernelbench/1/28
// assay: twin LAZY_LATER expect changed_behaviour -- does half of the work from its 40th call on
// assay: twin NO_LIMITS expect wrong_value -- the straight line alone
// A vector of 16 bytes a thread, in small blocks: with more of them a thread, or a grid that stays, an H200 moves less
// a second. Nothing is read twice, so both directions stream past the caches.
// assay: launch hard_sigmoid grid=ceil_div(x.count, 512) block=128 args=x, y, x.count
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 128 };

#ifdef LAZY_LATER
__device__ unsigned int calls;
#endif

static __device__ float value(float x) {
#ifdef NO_LIMITS
  return fmaf(x, 0.16666667f, 0.5f);
#else
  return fminf(fmaxf(fmaf(x, 0.16666667f, 0.5f), 0), 1);
#endif
}

__global__ void __launch_bounds__(THREADS)
    hard_sigmoid(const float *__restrict__ x, float *__restrict__ y, long long n) {
#ifdef LAZY_LATER
  if (blockIdx.x == 0 && threadIdx.x == 0)
    calls++;
  if (calls > 40)
    n /= 2; // what is left out still holds whatever the buffer held
#endif
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
  hard_sigmoid<<<(unsigned int)((n + 511) / 512), THREADS, 0, stream>>>(x, y, n);
}
#endif
