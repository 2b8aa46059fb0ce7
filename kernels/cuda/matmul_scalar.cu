// A matrix times the number 3.14: as fast as memory can be copied.
// assay: task kernelbench/1/5
// assay: twin HALF_FACTOR expect low_precision|wrong_value -- 3.14 rounded to half precision
// assay: twin TAIL expect unwritten -- forgets the last elements when their number is no multiple of 4
// assay: twin INT_OFFSET at full expect out_of_bounds|wrote_input|unwritten|wrong_value -- byte offsets in 32 bits
// A vector of 16 bytes a thread, in small blocks, past the caches: nothing is used twice.
// assay: launch scale grid=ceil_div(x.count, 512) block=128 args=x, y, x.count
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 128, CHUNK = THREADS * 4 };

#ifdef HALF_FACTOR
static const float factor = 3.140625f;
#else
static const float factor = 3.14f;
#endif

static __device__ const float4 *vector_at(const float *x, long long i) {
#ifdef INT_OFFSET
  return (const float4 *)((const char *)x + (int)((unsigned int)i * 4u));
#else
  return (const float4 *)(x + i);
#endif
}

__global__ void __launch_bounds__(THREADS) scale(const float *__restrict__ x, float *__restrict__ y, long long n) {
  long long first = (long long)blockIdx.x * CHUNK;
  if (first + CHUNK <= n) {
    long long i = first + (int)threadIdx.x * 4;
    float4 v = __ldcs(vector_at(x, i));
    __stcs((float4 *)vector_at(y, i), make_float4(v.x * factor, v.y * factor, v.z * factor, v.w * factor));
    return;
  }
#ifdef TAIL
  n = n / 4 * 4;
#endif
  for (long long i = first + threadIdx.x; i < n; i += THREADS)
    y[i] = x[i] * factor;
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  long long n = assay_count(&args->inputs[0]);
  scale<<<(unsigned int)((n + CHUNK - 1) / CHUNK), THREADS, 0, stream>>>(x, y, n);
}
#endif
