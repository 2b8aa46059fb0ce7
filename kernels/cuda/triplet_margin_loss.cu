// Triplet margin loss: mean of max(|a - p| - |a - n| + 1, 0) with Euclidean distances; 1e-6 is added to every
// difference.
// assay: task kernelbench/1/99
// assay: twin NO_HINGE expect wrong_value -- terms below zero count too
// assay: twin SQUARED expect wrong_value|wrong_class -- squared distances
// A block takes a row of each input, four vectors of each per thread at a time, and adds up to 16 terms in single
// precision, then all in double; a second kernel adds the rows' losses. The inputs are read once.
// assay: scratch part float[B]
// assay: launch losses<4> grid=B block=256 if=F % 4 == 0 args=anchor, positive, negative, part, F
// assay: launch losses<1> grid=B block=256 if=F % 4 != 0 args=anchor, positive, negative, part, F
// assay: launch mean grid=1 block=1024 args=part, y, B, B
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 256, LOADS = 4 };

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

static __device__ float square(float a, float b) {
  float d = a - b + 1e-6f;
  return d * d;
}

template <int V>
__global__ void __launch_bounds__(THREADS) losses(const float *__restrict__ anchor, const float *__restrict__ positive,
                                                  const float *__restrict__ negative, float *__restrict__ part, int F) {
  long long row = (long long)blockIdx.x * F;
  double near = 0, far = 0;
  for (int first = (int)threadIdx.x * V; first < F; first += LOADS * THREADS * V) {
    float a[LOADS][V], p[LOADS][V], n[LOADS][V], some = 0, others = 0;
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
      int at = first + i * THREADS * V;
      if (at < F)
        load<V>(a[i], anchor + row + at), load<V>(p[i], positive + row + at), load<V>(n[i], negative + row + at);
    }
#pragma unroll
    for (int i = 0; i < LOADS; i++)
#pragma unroll
      for (int j = 0; j < V; j++)
        if (first + i * THREADS * V < F)
          some += square(a[i][j], p[i][j]), others += square(a[i][j], n[i][j]);
    near += some;
    far += others;
  }
  near = sum_in_block(near);
  __syncthreads(); // the warps' sums are read before they are written again
  far = sum_in_block(far);
  if (threadIdx.x > 0)
    return;
#ifdef SQUARED
  double gap = near - far + 1;
#else
  double gap = sqrt(near) - sqrt(far) + 1;
#endif
#ifdef NO_HINGE
  part[blockIdx.x] = (float)gap;
#else
  part[blockIdx.x] = gap < 0 ? 0 : (float)gap;
#endif
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
  const struct assay_tensor *in = args->inputs;
  const float *anchor = (const float *)in[0].data, *positive = (const float *)in[1].data;
  const float *negative = (const float *)in[2].data;
  float *y = (float *)args->outputs[0].data, *part;
  int B = (int)in[0].dims[0], F = (int)in[0].dims[1];
  cudaMallocAsync((void **)&part, (size_t)B * sizeof *part, stream);
  if (F % 4 == 0)
    losses<4><<<(unsigned int)B, THREADS, 0, stream>>>(anchor, positive, negative, part, F);
  else
    losses<1><<<(unsigned int)B, THREADS, 0, stream>>>(anchor, positive, negative, part, F);
  mean<<<1, 1024, 0, stream>>>(part, y, B, B);
  cudaFreeAsync(part, stream);
}
#endif
