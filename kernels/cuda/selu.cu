// Scaled exponential linear unit.
// assay: task kernelbench/1/27
// assay: twin HALF_EXP expect low_precision|wrong_value -- the exponential in half precision
// assay: twin POSITIVE_ONLY expect wrong_value -- right where no input is negative
// Two vectors of 16 bytes a thread, a block apart, in small blocks: with more of them a thread, or a grid that stays,
// an H200 moves less a second. Nothing is read twice, so both directions stream past the caches.
// assay: launch selu grid=ceil_div(x.count, 1024) block=128 args=x, y, x.count
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

// e^x - 1 for x < 0, within an ulp, without branches: 2^n (e^f - 1) + (2^n - 1) with x = n ln 2 + f and e^f - 1 by a
// polynomial, which keeps the digits near 0. Below -25 the result is -1.
static __device__ float expm1_below_0(float x) {
  x = fmaxf(x, -25.0f);
  const float shifted = fmaf(x, 1.44269504f, 12582912.0f); // n in the last bits
  const float f = fmaf(shifted - 12582912.0f, -0.693147182f, x);
  const float power = __uint_as_float((__float_as_uint(shifted) << 23) + 0x3f800000u);
  float p = fmaf(fmaf(0x1.6beb22p-10f, f, 0x1.122dp-7f), f, 0x1.55568p-5f);
  p = fmaf(fmaf(p, f, 0x1.5554aap-3f), f, 0x1.fffffep-2f);
  return fmaf(power, fmaf(p * f, f, f), power - 1);
}

static __device__ float value(float x) {
#if defined(HALF_EXP)
  return SCALE * (x > 0 ? x : ALPHA * (halved(expf(x)) - 1));
#elif defined(POSITIVE_ONLY)
  return SCALE * x;
#else
  return x < 0 ? SCALE * ALPHA * expm1_below_0(x) : SCALE * x;
#endif
}

static __device__ float4 value(float4 v) {
  return make_float4(value(v.x), value(v.y), value(v.z), value(v.w));
}

__global__ void __launch_bounds__(THREADS) selu(const float *__restrict__ x, float *__restrict__ y, long long n) {
  const long long whole = n / 4, first = (long long)blockIdx.x * THREADS * 2 + threadIdx.x, second = first + THREADS;
  float4 v, w;
  if (first < whole)
    v = __ldcs((const float4 *)x + first);
  if (second < whole)
    w = __ldcs((const float4 *)x + second);
  if (first < whole)
    __stcs((float4 *)y + first, value(v));
  if (second < whole)
    __stcs((float4 *)y + second, value(w));
  long long last = whole * 4 + threadIdx.x; // up to three elements are left after the last whole vector
  if (blockIdx.x == gridDim.x - 1 && last < n)
    y[last] = value(x[last]);
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  long long n = assay_count(&args->inputs[0]);
  selu<<<(unsigned int)((n + 1023) / 1024), THREADS, 0, stream>>>(x, y, n);
}
#endif
