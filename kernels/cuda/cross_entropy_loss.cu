// Cross entropy of rows of logits against class numbers, averaged over the rows: log(sum of e^x) - x[label].
// assay: task kernelbench/1/95
// assay: twin INT32_LABELS expect wrong_value|wrong_class|out_of_bounds -- reads 64-bit labels as 32-bit ones
// assay: twin NO_MAX expect wrong_class|wrong_value -- no subtraction of the maximum
// A warp takes a row, eight vectors per thread at a time, and rescales its sum when a larger maximum turns up; a
// second kernel adds the rows' losses. The logits are read once.
// assay: scratch part float[B]
// assay: launch losses<4> grid=ceil_div(B, 8) block=256 if=C % 4 == 0 args=logits, labels, part, B, C
// assay: launch losses<1> grid=ceil_div(B, 8) block=256 if=C % 4 != 0 args=logits, labels, part, B, C
// assay: launch mean grid=1 block=1024 args=part, y, B, B
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 256, LOADS = 8 };

#define INF __int_as_float(0x7f800000)

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

// V elements that lie at x.
template <int V> static __device__ void load(float (&v)[V], const float *x) {
  if constexpr (V == 4) {
    float4 f = __ldcs((const float4 *)x);
    v[0] = f.x, v[1] = f.y, v[2] = f.z, v[3] = f.w;
  } else {
    v[0] = __ldcs(x);
  }
}

static __device__ float exp_to(float x, float max) {
#ifdef NO_MAX
  return expf(x);
#else
  return expf(x - max);
#endif
}

template <int V>
__global__ void __launch_bounds__(THREADS)
    losses(const float *__restrict__ x, const long long *__restrict__ labels, float *__restrict__ part, int B, int C) {
  int row = (int)(blockIdx.x * (THREADS / 32) + threadIdx.x / 32), lane = (int)threadIdx.x % 32;
  if (row >= B)
    return;
  x += (long long)row * C;
  float max = -INF, sum = 0;
  for (int first = lane * V; first < C; first += LOADS * 32 * V) {
    float v[LOADS][V], top = max;
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
#pragma unroll
      for (int j = 0; j < V; j++)
        v[i][j] = -INF; // adds nothing
      if (first + i * 32 * V < C)
        load<V>(v[i], x + first + i * 32 * V);
#pragma unroll
      for (int j = 0; j < V; j++)
        top = fmaxf(top, v[i][j]);
    }
    sum *= exp_to(max, top); // 0 for the first
    max = top;
#pragma unroll
    for (int i = 0; i < LOADS; i++)
#pragma unroll
      for (int j = 0; j < V; j++)
        sum += exp_to(v[i][j], max);
  }
  float top = max;
  for (int step = 16; step > 0; step /= 2)
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, step));
  sum = max == top ? sum : sum * exp_to(max, top);
  for (int step = 16; step > 0; step /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (lane > 0)
    return;
#ifdef INT32_LABELS
  int label = ((const int *)labels)[row];
#else
  int label = (int)labels[row];
#endif
#ifdef NO_MAX
  top = 0;
#endif
  part[row] = top - x[label] + logf(sum);
}

// Adds what the blocks have found and divides by what the mean is over.
__global__ void __launch_bounds__(1024)
    mean(const float *__restrict__ part, float *__restrict__ y, int parts, long long count) {
  double sum = 0;
  for (int i = (int)threadIdx.x; i < parts; i += 1024)
    sum += part[i];
  sum = sum_in_block(sum);
  if (threadIdx.x == 0)
    *y = (float)(sum / (double)count);
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const float *logits = (const float *)args->inputs[0].data;
  const long long *labels = (const long long *)args->inputs[1].data;
  float *y = (float *)args->outputs[0].data, *part;
  int B = (int)args->inputs[0].dims[0], C = (int)args->inputs[0].dims[1];
  cudaMallocAsync((void **)&part, (size_t)B * sizeof *part, stream);
  if (C % 4 == 0)
    losses<4><<<(unsigned int)((B + 7) / 8), THREADS, 0, stream>>>(logits, labels, part, B, C);
  else
    losses<1><<<(unsigned int)((B + 7) / 8), THREADS, 0, stream>>>(logits, labels, part, B, C);
  mean<<<1, 1024, 0, stream>>>(part, y, B, B);
  cudaFreeAsync(part, stream);
}
#endif
