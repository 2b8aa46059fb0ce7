// Layer normalisation over channels, rows and columns.
// assay: task kernelbench/1/40
// assay: twin ONE_PASS expect wrong_value|wrong_class|low_precision -- variance as E[x^2] - E[x]^2, in single precision
// assay: twin NO_SHIFT expect wrong_value -- forgets beta
// assay: twin FIRST_SAMPLE expect wrong_value -- statistics of the first sample for all
// The tensor is read twice: once for mean and variance of pieces of 32768 elements, which a second kernel joins in
// double, and once to be scaled. A sample of the published shape would fit the registers of the device, but gamma and
// beta are twice as much and would have to come again for each sample; as it is, a thread has its weights and goes
// through all samples. The second reading begins with the positions where the first one ended, which the L2 cache still
// has of all samples.
// assay: let plane = C * H * W
// assay: let pieces = ceil_div(plane, 32768)
// assay: let wide = plane % 4 == 0
// assay: scratch part double[2 * N * pieces]
// assay: scratch stats float[4 * N]
// assay: launch statistics<4> grid=N,pieces block=256 if=wide args=x, part, plane
// assay: launch statistics<1> grid=N,pieces block=256 if=!wide args=x, part, plane
// assay: launch join grid=N block=256 args=part, stats, plane, pieces, 1, N
// assay: launch apply<4> grid=ceil_div(plane, 1024) block=256 if=wide args=x, stats, gamma, beta, y, N, plane
// assay: launch apply<1> grid=ceil_div(plane, 256) block=256 if=!wide args=x, stats, gamma, beta, y, N, plane
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 256, LOADS = 4, PIECE = 32768 };

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
    float4 f = *(const float4 *)x;
    v[0] = f.x, v[1] = f.y, v[2] = f.z, v[3] = f.w;
  } else {
    v[0] = *x;
  }
}

template <int V> static __device__ void store(float *y, const float (&v)[V]) {
  if constexpr (V == 4)
    __stcs((float4 *)y, make_float4(v[0], v[1], v[2], v[3]));
  else
    __stcs(y, v[0]);
}

// Mean and sum of squared differences from it of a piece of a segment. Sums are of differences from the piece's first
// element, so that a mean far above the spread cancels nothing; 16 terms are added in single precision, the rest in
// double.
template <int V>
__global__ void __launch_bounds__(THREADS)
    statistics(const float *__restrict__ x, double2 *__restrict__ part, int length) {
  int begin = (int)blockIdx.y * PIECE, count = min(PIECE, length - begin);
  x += (long long)blockIdx.x * length + begin;
#ifdef ONE_PASS
  const float pivot = 0;
  float sum = 0, squares = 0;
#else
  const float pivot = *x;
  double sum = 0, squares = 0;
#endif
  for (int first = (int)threadIdx.x * V; first < count; first += LOADS * THREADS * V) {
    float v[LOADS][V], few = 0, few_squares = 0;
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
#pragma unroll
      for (int j = 0; j < V; j++)
        v[i][j] = pivot;
      if (first + i * THREADS * V < count)
        load<V>(v[i], x + first + i * THREADS * V);
    }
#pragma unroll
    for (int i = 0; i < LOADS; i++)
#pragma unroll
      for (int j = 0; j < V; j++) {
        float d = v[i][j] - pivot;
        few += d;
        few_squares += d * d;
      }
    sum += few;
    squares += few_squares;
  }
  sum = sum_in_block(sum);
  __syncthreads(); // the warps' sums are read before they are written again
  squares = sum_in_block(squares);
  if (threadIdx.x == 0)
    part[(long long)blockIdx.x * gridDim.y + blockIdx.y] =
        make_double2(pivot + sum / count, squares - sum * sum / count);
}

// Joins the pieces of a group of segments, which lie `stride` apart: the mean as the sum of two floats, and the factor.
__global__ void __launch_bounds__(THREADS) join(const double2 *__restrict__ part, float4 *__restrict__ stats,
                                                int length, int pieces, int segments, int stride) {
  __shared__ double shared_mean;
  double sum = 0, squares = 0, n = (double)length * segments;
  for (int i = (int)threadIdx.x; i < pieces * segments; i += THREADS) {
    int piece = i % pieces, count = min(PIECE, length - piece * PIECE);
    sum += count * part[((long long)(i / pieces) * stride + blockIdx.x) * pieces + piece].x;
  }
  sum = sum_in_block(sum);
  if (threadIdx.x == 0)
    shared_mean = sum / n;
  __syncthreads();
  const double mean = shared_mean;
  for (int i = (int)threadIdx.x; i < pieces * segments; i += THREADS) {
    int piece = i % pieces, count = min(PIECE, length - piece * PIECE);
    double2 p = part[((long long)(i / pieces) * stride + blockIdx.x) * pieces + piece];
    squares += p.y + count * (p.x - mean) * (p.x - mean);
  }
  squares = sum_in_block(squares);
  if (threadIdx.x > 0)
    return;
  double variance = squares / n;
  float high = (float)mean;
  stats[blockIdx.x] = make_float4(high, (float)(mean - high), (float)(1 / sqrt(variance + 1e-5)), 0);
}

// A thread has the weights of its positions and goes through the samples, four at a time.
template <int V>
__global__ void __launch_bounds__(THREADS)
    apply(const float *__restrict__ x, const float4 *__restrict__ stats, const float *__restrict__ gamma,
          const float *__restrict__ beta, float *__restrict__ y, int N, int plane) {
  long long at = (long long)((gridDim.x - 1 - blockIdx.x) * THREADS + threadIdx.x) * V;
  if (at >= plane)
    return;
  float g[V], b[V];
  load<V>(g, gamma + at);
  load<V>(b, beta + at);
#ifdef NO_SHIFT
  for (int j = 0; j < V; j++)
    b[j] = 0;
#endif
  for (int first = 0; first < N; first += LOADS) {
    float v[LOADS][V];
#pragma unroll
    for (int i = 0; i < LOADS; i++)
      if (first + i < N)
        load<V>(v[i], x + (long long)(first + i) * plane + at);
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
      if (first + i >= N)
        break;
#ifdef FIRST_SAMPLE
      float4 s = stats[0];
#else
      float4 s = stats[first + i];
#endif
#pragma unroll
      for (int j = 0; j < V; j++)
        v[i][j] = fmaf((v[i][j] - s.x - s.y) * s.z, g[j], b[j]);
      store<V>(y + (long long)(first + i) * plane + at, v[i]);
    }
  }
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const int64_t *dims = args->inputs[0].dims;
  const float *x = (const float *)args->inputs[0].data, *gamma = (const float *)args->inputs[1].data;
  const float *beta = (const float *)args->inputs[2].data;
  float *y = (float *)args->outputs[0].data;
  int N = (int)dims[0], plane = (int)(dims[1] * dims[2] * dims[3]), length = plane;
  int segments = N, groups = N;
  int pieces = (length + PIECE - 1) / PIECE;
  double2 *part;
  float4 *stats;
  cudaMallocAsync((void **)&part, (size_t)segments * (size_t)pieces * sizeof *part, stream);
  cudaMallocAsync((void **)&stats, (size_t)groups * sizeof *stats, stream);
  dim3 grid((unsigned int)segments, (unsigned int)pieces);
  if (plane % 4 == 0)
    statistics<4><<<grid, THREADS, 0, stream>>>(x, part, length);
  else
    statistics<1><<<grid, THREADS, 0, stream>>>(x, part, length);
  join<<<(unsigned int)groups, THREADS, 0, stream>>>(part, stats, length, pieces, segments / groups, groups);
  if (plane % 4 == 0)
    apply<4><<<(unsigned int)((plane + 1023) / 1024), THREADS, 0, stream>>>(x, stats, gamma, beta, y, N, plane);
  else
    apply<1><<<(unsigned int)((plane + 255) / 256), THREADS, 0, stream>>>(x, stats, gamma, beta, y, N, plane);
  cudaFreeAsync(part, stream);
  cudaFreeAsync(stats, stream);
}
#endif
