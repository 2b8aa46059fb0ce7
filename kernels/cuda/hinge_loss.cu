// Mean hinge loss of rows of predictions against one row of signs.
// assay: task kernelbench/1/100
// assay: twin ONE_SIGN expect wrong_value -- all columns of a vector have the first one's sign
// assay: twin NO_HINGE expect wrong_value -- terms below zero count too
// A thread keeps the signs of its four columns and goes down 64 rows, eight at a time; sums of up to 32 terms are
// single, all above double. A second kernel adds what the blocks have found. The predictions are read once.
// assay: let groups = ceil_div(B, 64)
// assay: let columns = F % 4 == 0 ? ceil_div(F, 1024) : ceil_div(F, 256)
// assay: scratch part double[groups * columns]
// assay: launch hinge<4> grid=columns,groups block=256 if=F % 4 == 0 args=predictions, targets, part, B, F
// assay: launch hinge<1> grid=columns,groups block=256 if=F % 4 != 0 args=predictions, targets, part, B, F
// assay: launch mean grid=1 block=1024 args=part, y, groups * columns, predictions.count
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 256, ROWS = 8, GROUP = 64 };

static __device__ float term(float prediction, float target) {
  float h = 1 - prediction * target;
#ifdef NO_HINGE
  return h;
#else
  return h < 0 ? 0 : h;
#endif
}

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

template <int V>
__global__ void __launch_bounds__(THREADS)
    hinge(const float *__restrict__ x, const float *__restrict__ targets, double *__restrict__ part, int B, int F) {
  int column = (int)(blockIdx.x * THREADS + threadIdx.x) * V, row = (int)blockIdx.y * GROUP, stop = min(B, row + GROUP);
  double sum = 0;
  if (column < F) {
    const float *from = x + (long long)row * F + column;
    float sign[V];
    load<V>(sign, targets + column);
#ifdef ONE_SIGN
    for (int j = 1; j < V; j++)
      sign[j] = sign[0];
#endif
    for (; row < stop; row += ROWS, from += (long long)ROWS * F) {
      float v[ROWS][V], few = 0;
#pragma unroll
      for (int k = 0; k < ROWS; k++)
        if (row + k < stop)
          load<V>(v[k], from + (long long)k * F);
#pragma unroll
      for (int k = 0; k < ROWS; k++)
#pragma unroll
        for (int j = 0; j < V; j++)
          few += row + k < stop ? term(v[k][j], sign[j]) : 0;
      sum += few;
    }
  }
  sum = sum_in_block(sum);
  if (threadIdx.x == 0)
    part[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

// Adds what the blocks have found and divides by what the mean is over.
__global__ void __launch_bounds__(1024)
    mean(const double *__restrict__ part, float *__restrict__ y, int parts, long long count) {
  double sum = 0;
  for (int i = (int)threadIdx.x; i < parts; i += 1024)
    sum += part[i];
  sum = sum_in_block(sum);
  if (threadIdx.x == 0)
    *y = (float)(sum / (double)count);
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const float *x = (const float *)args->inputs[0].data, *targets = (const float *)args->inputs[1].data;
  float *y = (float *)args->outputs[0].data;
  int B = (int)args->inputs[0].dims[0], F = (int)args->inputs[0].dims[1];
  int groups = (B + GROUP - 1) / GROUP, columns = F % 4 == 0 ? (F + 1023) / 1024 : (F + 255) / 256;
  dim3 blocks((unsigned int)columns, (unsigned int)groups);
  double *part;
  cudaMallocAsync((void **)&part, (size_t)(groups * columns) * sizeof *part, stream);
  if (F % 4 == 0)
    hinge<4><<<blocks, THREADS, 0, stream>>>(x, targets, part, B, F);
  else
    hinge<1><<<blocks, THREADS, 0, stream>>>(x, targets, part, B, F);
  mean<<<1, 1024, 0, stream>>>(part, y, groups * columns, assay_count(&args->inputs[0]));
  cudaFreeAsync(part, stream);
}
#endif
