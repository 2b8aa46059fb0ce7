// Division of a whole tensor by its Frobenius norm.
// assay: task kernelbench/1/37
// assay: twin CACHED expect changed_behaviour|wrong_value -- keeps the norm of the first call of each size
// assay: twin LAST_VECTOR expect wrong_value|wrong_class -- what is behind the last whole vector does not count
// assay: twin NO_ROOT expect wrong_value|wrong_class -- divides by the sum of squares
// The tensor is read twice, as it fits nowhere: once for the sum of squares, 16 terms in single precision and the rest
// in double, and once to be divided. The second reading begins at the end, of which some is still in the cache.
// assay: let n = x.count
// assay: let parts = ceil_div(n, 32768)
// assay: scratch part double[parts]
// assay: scratch norm float[1]
// assay: launch squares grid=parts block=256 args=x, part, n
// assay: launch root grid=1 block=1024 args=part, norm, parts, n
// assay: launch divide grid=ceil_div(n, 4096) block=256 args=x, norm, y, n
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 256, LOADS = 4, ROUNDS = 8 };

#ifdef CACHED
__device__ float kept;
__device__ long long kept_n;
#endif

static __device__ double sum_in_warp(double x) {
  for (int step = 16; step > 0; step /= 2)
    x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

// The sum over all threads of a block; only the first warp has it.
static __device__ double sum_in_block(double x) {
  __shared__ double warps[32];
  x = sum_in_warp(x);
  if (threadIdx.x % 32 == 0)
    warps[threadIdx.x / 32] = x;
  __syncthreads();
  return sum_in_warp(threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0);
}

__global__ void __launch_bounds__(THREADS)
    squares(const float *__restrict__ x, double *__restrict__ part, long long n) {
  const long long whole = n / 4, first = (long long)blockIdx.x * ROUNDS * LOADS * THREADS + threadIdx.x;
  double sum = 0;
#pragma unroll 2
  for (int round = 0; round < ROUNDS; round++) {
    float4 v[LOADS];
    float few = 0;
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
      long long at = first + (round * LOADS + i) * THREADS;
      v[i] = make_float4(0, 0, 0, 0);
      if (at < whole)
        v[i] = ((const float4 *)x)[at];
    }
#pragma unroll
    for (int i = 0; i < LOADS; i++)
      few += (v[i].x * v[i].x + v[i].y * v[i].y) + (v[i].z * v[i].z + v[i].w * v[i].w);
    sum += few;
  }
#ifndef LAST_VECTOR
  long long last = whole * 4 + threadIdx.x; // up to three elements are left after the last whole vector
  if (blockIdx.x == gridDim.x - 1 && last < n)
    sum += (double)x[last] * x[last];
#endif
  sum = sum_in_block(sum);
  if (threadIdx.x == 0)
    part[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(1024)
    root(const double *__restrict__ part, float *__restrict__ norm, int parts, long long n) {
  double sum = 0;
  for (int i = (int)threadIdx.x; i < parts; i += 1024)
    sum += part[i];
  sum = sum_in_block(sum);
  if (threadIdx.x > 0)
    return;
#ifdef NO_ROOT
  *norm = (float)sum;
#else
  *norm = (float)sqrt(sum);
#endif
#ifdef CACHED
  if (kept_n == n)
    *norm = kept;
  kept = *norm, kept_n = n;
#endif
}

__global__ void __launch_bounds__(THREADS)
    divide(const float *__restrict__ x, const float *__restrict__ norm, float *__restrict__ y, long long n) {
  const long long whole = n / 4, block = gridDim.x - 1 - blockIdx.x, first = block * LOADS * THREADS + threadIdx.x;
  const float4 *from = (const float4 *)x + first;
  float4 *to = (float4 *)y + first;
  float4 v[LOADS];
#pragma unroll
  for (int i = 0; i < LOADS; i++)
    if (first + i * THREADS < whole)
      v[i] = __ldcs(&from[i * THREADS]);
  float d = *norm;
#pragma unroll
  for (int i = 0; i < LOADS; i++)
    if (first + i * THREADS < whole)
      __stcs(&to[i * THREADS], make_float4(v[i].x / d, v[i].y / d, v[i].z / d, v[i].w / d));
  long long last = whole * 4 + threadIdx.x;
  if (blockIdx.x == 0 && last < n)
    y[last] = x[last] / d;
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data, *norm;
  long long n = assay_count(&args->inputs[0]);
  int parts = (int)((n + 32767) / 32768);
  double *part;
  cudaMallocAsync((void **)&part, (size_t)parts * sizeof *part, stream);
  cudaMallocAsync((void **)&norm, sizeof *norm, stream);
  squares<<<(unsigned int)parts, THREADS, 0, stream>>>(x, part, n);
  root<<<1, 1024, 0, stream>>>(part, norm, parts, n);
  divide<<<(unsigned int)((n + 4095) / 4096), THREADS, 0, stream>>>(x, norm, y, n);
  cudaFreeAsync(part, stream);
  cudaFreeAsync(norm, stream);
}
#endif
