// Mean of the Huber loss with threshold 1.
// assay: task kernelbench/1/96
// assay: twin QUADRATIC expect wrong_value|wrong_class -- squares beyond the threshold too
// assay: twin OLD_PARTS expect wrong_value|wrong_class -- one part more than there is
// A block takes 32768 pairs, with eight vectors per thread on their way, and adds them in two steps: 16 terms in
// single precision, then all in double. A second kernel adds what the blocks have found. Both inputs are read once.
// assay: let n = predictions.count
// assay: let parts = ceil_div(n, 32768)
// assay: scratch part double[parts]
// assay: launch losses grid=parts block=256 args=predictions, targets, part, n
// assay: launch mean grid=1 block=1024 args=part, y, parts, n
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 256, LOADS = 4, ROUNDS = 8 };

static __device__ float term(float prediction, float target) {
  float d = fabsf(prediction - target);
#ifdef QUADRATIC
  return d * d * 0.5f;
#else
  return d < 1 ? d * d * 0.5f : d - 0.5f;
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

__global__ void __launch_bounds__(THREADS)
    losses(const float *__restrict__ a, const float *__restrict__ b, double *__restrict__ part, long long n) {
  const long long whole = n / 4, first = (long long)blockIdx.x * ROUNDS * LOADS * THREADS + threadIdx.x;
  double sum = 0;
  for (int round = 0; round < ROUNDS; round++) {
    float4 va[LOADS], vb[LOADS];
    float few = 0;
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
      long long at = first + (round * LOADS + i) * THREADS;
      if (at < whole)
        va[i] = __ldcs((const float4 *)a + at), vb[i] = __ldcs((const float4 *)b + at);
    }
#pragma unroll
    for (int i = 0; i < LOADS; i++)
      if (first + (round * LOADS + i) * THREADS < whole)
        few += (term(va[i].x, vb[i].x) + term(va[i].y, vb[i].y)) + (term(va[i].z, vb[i].z) + term(va[i].w, vb[i].w));
    sum += few;
  }
  long long last = whole * 4 + threadIdx.x; // up to three pairs are left after the last whole vector
  if (blockIdx.x == gridDim.x - 1 && last < n)
    sum += term(a[last], b[last]);
  sum = sum_in_block(sum);
  if (threadIdx.x == 0)
    part[blockIdx.x] = sum;
}

// Adds what the blocks have found and divides by what the mean is over.
__global__ void __launch_bounds__(1024)
    mean(const double *__restrict__ part, float *__restrict__ y, int parts, long long count) {
  double sum = 0;
#ifdef OLD_PARTS
  parts++; // garbage: scratch memory holds nothing when a call begins
#endif
  for (int i = (int)threadIdx.x; i < parts; i += 1024)
    sum += part[i];
  sum = sum_in_block(sum);
  if (threadIdx.x == 0)
    *y = (float)(sum / (double)count);
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const float *a = (const float *)args->inputs[0].data, *b = (const float *)args->inputs[1].data;
  float *y = (float *)args->outputs[0].data;
  long long n = assay_count(&args->inputs[0]);
  int parts = (int)((n + 32767) / 32768);
  double *part;
  cudaMallocAsync((void **)&part, (size_t)parts * sizeof *part, stream);
  losses<<<(unsigned int)parts, THREADS, 0, stream>>>(a, b, part, n);
  mean<<<1, 1024, 0, stream>>>(part, y, parts, n);
  cudaFreeAsync(part, stream);
}
#endif
