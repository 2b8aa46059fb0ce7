// Batch normalisation of images with the statistics of the batch.
// assay: task kernelbench/1/33
// assay: twin ONE_PASS expect wrong_value|wrong_class|low_precision -- variance as E[x^2] - E[x]^2
// assay: twin UNBIASED expect wrong_value|wrong_class -- divides the squares by n - 1
// assay: twin FIRST_IMAGE expect wrong_value|wrong_class -- statistics of the first image alone
// A channel of all images is more than the L2 cache holds, but not more than the whole device: all blocks together, one
// on each SM, take one channel after the other. Of its share of a channel, a block keeps some vectors in registers and
// more in shared memory; the rest is asked for once more when the statistics are known, and should still be in the L2
// cache, which is asked to keep these and nothing else. Blocks exchange sums through memory and wait for each other
// there; registers and shared memory are filled again as soon as their vectors have been used. Sums are of differences
// from the channel's first element, so that a mean far above the spread cancels nothing; 16 terms are added in single
// precision, the rest in double. Where planes do not begin at multiples of 16 bytes, a block makes a channel, and reads
// it twice.
// assay: let plane = H * W
// assay: let wide = plane % 4 == 0
// assay: let vectors = N * ceil_div(plane, 4)
// assay: require vectors * C <= 2147000000 -- vectors are counted in 32 bits
// assay: let blocks = min(132, ceil_div(vectors, 512))
// assay: let share = ceil_div(vectors, blocks)
// assay: let slots = max(0, min(28, ceil_div(share, 512) - 12))
// assay: scratch part double[2 * C * blocks]
// assay: scratch arrived uint8[4 * C]
// assay: fill arrived 0 if=wide
// assay: launch batch_norm grid=blocks block=512 cooperative shared=512 + slots * 8192 if=wide \
//   args=x, gamma, beta, y, part, arrived, vectors, share, C, ceil_div(plane, 4)
// assay: launch batch_norm_plain grid=C block=512 shared=512 if=!wide args=x, gamma, beta, y, N, C, plane
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

// Vectors of a thread: the first in registers, then in shared memory, then in the L2 cache, so many at a time.
enum { THREADS = 512, HELD = 12, SLOTS = 28, BATCH = 4, BLOCKS = 132 };

extern __shared__ float4 memory[]; // sums of the warps, and from byte 512 on a block's vectors

// How long the L2 cache is to keep what passes through it.
static __device__ unsigned long long keep_none() {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

static __device__ unsigned long long keep_all() {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

static __device__ float4 load(const float4 *from, unsigned long long policy) {
  float4 v;
  asm volatile("ld.global.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(from), "l"(policy));
  return v;
}

static __device__ void copy_async(float4 *to, const float4 *from, unsigned long long policy) {
  unsigned int at = (unsigned int)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "l"(policy)
               : "memory");
}

static __device__ void copy_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

static __device__ void copy_wait() {
  asm volatile("cp.async.wait_group 0;" ::: "memory");
}

static __device__ double2 sum_in_warp(double2 x) {
  for (int step = 16; step > 0; step /= 2)
    x.x += __shfl_xor_sync(0xffffffffu, x.x, step), x.y += __shfl_xor_sync(0xffffffffu, x.y, step);
  return x;
}

// Two sums over all threads of a block, in each of them.
static __device__ double2 sum_in_block(double2 x) {
  double2 *warps = (double2 *)memory;
  x = sum_in_warp(x);
  __syncthreads(); // the sums of the call before have been read
  if (threadIdx.x % 32 == 0)
    warps[threadIdx.x / 32] = x;
  __syncthreads();
  return sum_in_warp(threadIdx.x % 32 < THREADS / 32 ? warps[threadIdx.x % 32] : make_double2(0, 0));
}

// Sums of what elements differ from a pivot by, and of its squares.
struct sums {
  double2 all;
  float few, few_squares; // of the last elements
  __device__ void take(float x, float pivot) {
    float d = x - pivot;
    few += d;
    few_squares += d * d;
  }
  __device__ void take(float4 v, float pivot) {
    take(v.x, pivot), take(v.y, pivot), take(v.z, pivot), take(v.w, pivot);
  }
  __device__ void settle() {
    all.x += few, all.y += few_squares;
    few = few_squares = 0;
  }
};

// What makes an element of a channel a result: the mean as two floats, and the factor.
struct line {
  float high, factor, shift;
  __device__ float at(float x) const { return fmaf(x - high, factor, shift); }
  __device__ void store(float4 *to, float4 v) const { __stcs(to, make_float4(at(v.x), at(v.y), at(v.z), at(v.w))); }
};

static __device__ float pivot_of(const float *channel) {
#ifdef ONE_PASS
  return 0;
#else
  return *channel;
#endif
}

static __device__ line line_of(double2 sum, float pivot, double n, float gamma, float beta) {
  double off = sum.x / n, squares = fmax(sum.y - sum.x * off, 0.0), mean = pivot + off;
#ifdef UNBIASED
  double variance = squares / (n - 1);
#else
  double variance = squares / n;
#endif
  float high = (float)mean, factor = (float)(1 / sqrt(variance + 1e-5)) * gamma;
  return {high, factor, beta - (float)(mean - high) * factor};
}

// Where a thread's vectors of a channel are. Those of a plane lie side by side.
struct place {
  int at, rest; // in the first channel, in the plane
  __device__ void next(int C, int plane) {
    at += THREADS, rest += THREADS;
    while (rest >= plane)
      at += (C - 1) * plane, rest -= plane;
  }
};

// The vector `index` of a channel.
static __device__ place place_of(int index, int C, int plane) {
  return {index / plane * C * plane + index % plane, index % plane};
}

// The place itself, which the compiler does not see through: all places that follow would not fit in registers.
static __device__ place walk_from(place p) {
  asm volatile("" : "+r"(p.at), "+r"(p.rest));
  return p;
}

// Waits until all blocks have come here with this channel, so that what they wrote before can be read.
static __device__ void meet(int *arrived) {
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1);
    while (*(volatile int *)arrived < (int)gridDim.x)
      __nanosleep(32);
    __threadfence();
  }
  __syncthreads();
}

// `plane` is in vectors here, and so are `vectors` of a channel and a block's share of them.
__global__ void __launch_bounds__(THREADS, 1)
    batch_norm(const float4 *__restrict__ x, const float *__restrict__ gamma, const float *__restrict__ beta,
               float4 *__restrict__ y, double2 *part, int *arrived, int vectors, int share, int C, int plane) {
  float4 *slots = memory + 32 + threadIdx.x, held[HELD];
  const int first = (int)blockIdx.x * share + (int)threadIdx.x, stop = min(vectors, ((int)blockIdx.x + 1) * share);
  const int count = first < stop ? (stop - first - 1) / THREADS + 1 : 0; // of this thread
  const place held_place = place_of(first, C, plane), slots_place = place_of(first + HELD * THREADS, C, plane);
  const place rest_place = place_of(first + (HELD + SLOTS) * THREADS, C, plane);
  const unsigned long long none = keep_none(), all = keep_all();
#ifdef FIRST_IMAGE
  const int counted = first < plane ? (plane - first - 1) / THREADS + 1 : 0;
  const double n = 4.0 * plane;
#else
  const int counted = count;
  const double n = 4.0 * vectors;
#endif
  place at = walk_from(held_place);
#pragma unroll
  for (int k = 0; k < HELD; k++, at.next(C, plane))
    if (k < count)
      held[k] = load(x + at.at, none);
  at = walk_from(slots_place);
  for (int k = HELD; k < min(count, HELD + SLOTS); k++, at.next(C, plane))
    copy_async(&slots[(k - HELD) * THREADS], x + at.at, none);
  copy_commit();
  for (int c = 0; c < C; c++, x += plane, y += plane) {
    const float pivot = pivot_of((const float *)x);
    struct sums sum = {{0, 0}, 0, 0};
    at = walk_from(rest_place);
    for (int k = HELD + SLOTS; k < count; k += BATCH) {
      float4 v[BATCH];
#pragma unroll
      for (int i = 0; i < BATCH; i++, at.next(C, plane))
        if (k + i < count)
          v[i] = load(x + at.at, all);
#pragma unroll
      for (int i = 0; i < BATCH; i++) {
        if (k + i < counted)
          sum.take(v[i], pivot);
        if (i % 4 == 3)
          sum.settle();
      }
    }
#pragma unroll
    for (int k = 0; k < HELD; k++) {
      if (k < counted)
        sum.take(held[k], pivot);
      if (k % 4 == 3)
        sum.settle();
    }
    copy_wait();
#pragma unroll 4
    for (int k = 0; k < SLOTS; k++) {
      if (k + HELD < counted)
        sum.take(slots[k * THREADS], pivot);
      if (k % 4 == 3)
        sum.settle();
    }
    double2 total = sum_in_block(sum.all);
    if (threadIdx.x == 0)
      part[c * (int)gridDim.x + (int)blockIdx.x] = total;
    meet(&arrived[c]);
    total = make_double2(0, 0);
    if (threadIdx.x < gridDim.x)
      total = __ldcg(&part[c * (int)gridDim.x + (int)threadIdx.x]);
    const line to = line_of(sum_in_block(total), pivot, n, gamma[c], beta[c]);
    at = walk_from(rest_place);
    for (int k = HELD + SLOTS; k < count; k += BATCH) {
      float4 v[BATCH];
      place from = walk_from(at);
#pragma unroll
      for (int i = 0; i < BATCH; i++, from.next(C, plane))
        if (k + i < count)
          v[i] = load(x + from.at, none);
#pragma unroll
      for (int i = 0; i < BATCH; i++, at.next(C, plane))
        if (k + i < count)
          to.store(y + at.at, v[i]);
    }
    at = walk_from(slots_place);
#pragma unroll 4
    for (int k = HELD; k < min(count, HELD + SLOTS); k++, at.next(C, plane)) {
      to.store(y + at.at, slots[(k - HELD) * THREADS]);
      if (c + 1 < C)
        copy_async(&slots[(k - HELD) * THREADS], x + plane + at.at, none);
    }
    copy_commit();
    at = walk_from(held_place);
#pragma unroll
    for (int k = 0; k < HELD; k++, at.next(C, plane))
      if (k < count) {
        to.store(y + at.at, held[k]);
        if (c + 1 < C)
          held[k] = load(x + plane + at.at, none);
      }
  }
}

// Any shape: a block makes a channel.
__global__ void __launch_bounds__(THREADS)
    batch_norm_plain(const float *__restrict__ x, const float *__restrict__ gamma, const float *__restrict__ beta,
                     float *__restrict__ y, int N, int C, int plane) {
  const int c = (int)blockIdx.x;
  x += (long long)c * plane;
  y += (long long)c * plane;
#ifdef FIRST_IMAGE
  const int images = 1;
#else
  const int images = N;
#endif
  const float pivot = pivot_of(x);
  struct sums sum = {{0, 0}, 0, 0};
  for (int image = 0; image < images; image++)
    for (int i = (int)threadIdx.x; i < plane; i += THREADS) {
      sum.take(x[(long long)image * C * plane + i], pivot);
      sum.settle();
    }
  const line to = line_of(sum_in_block(sum.all), pivot, (double)images * plane, gamma[c], beta[c]);
  for (int image = 0; image < N; image++)
    for (int i = (int)threadIdx.x; i < plane; i += THREADS)
      y[(long long)image * C * plane + i] = to.at(x[(long long)image * C * plane + i]);
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const int64_t *dims = args->inputs[0].dims;
  const float *x = (const float *)args->inputs[0].data, *gamma = (const float *)args->inputs[1].data;
  const float *beta = (const float *)args->inputs[2].data;
  float *y = (float *)args->outputs[0].data;
  int N = (int)dims[0], C = (int)dims[1], plane = (int)(dims[2] * dims[3]);
  if (plane % 4 != 0) {
    batch_norm_plain<<<(unsigned int)C, THREADS, 512, stream>>>(x, gamma, beta, y, N, C, plane);
    return;
  }
  int vectors = N * (plane / 4), blocks = (vectors + THREADS - 1) / THREADS;
  blocks = blocks < BLOCKS ? blocks : BLOCKS;
  int share = (vectors + blocks - 1) / blocks, slots = (share + THREADS - 1) / THREADS - HELD;
  slots = slots < 0 ? 0 : slots > SLOTS ? SLOTS : slots;
  double2 *part;
  int *arrived;
  cudaMallocAsync((void **)&part, (size_t)C * (size_t)blocks * sizeof *part, stream);
  cudaMallocAsync((void **)&arrived, (size_t)C * sizeof *arrived, stream);
  cudaMemsetAsync(arrived, 0, (size_t)C * sizeof *arrived, stream);
  cudaLaunchAttribute cooperative;
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t launch = {};
  launch.gridDim = (unsigned int)blocks;
  launch.blockDim = THREADS;
  launch.dynamicSmemBytes = 512 + (size_t)slots * THREADS * sizeof(float4);
  launch.stream = stream;
  launch.attrs = &cooperative;
  launch.numAttrs = 1;
  cudaFuncSetAttribute(batch_norm, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)launch.dynamicSmemBytes);
  cudaLaunchKernelEx(&launch, batch_norm, (const float4 *)x, gamma, beta, (float4 *)y, part, arrived, vectors, share, C,
                     plane / 4);
  cudaFreeAsync(part, stream);
  cudaFreeAsync(arrived, stream);
}
#endif
