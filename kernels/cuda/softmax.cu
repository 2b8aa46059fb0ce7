// Softmax over rows that are read once: a row lies in the shared memory of a cluster of up to eight blocks.
// assay: task kernelbench/1/23
// assay: twin NO_MAX expect wrong_class|wrong_value -- no subtraction of the maximum
// assay: twin NO_RESCALE expect wrong_value -- sums are joined as if their maxima were the same
// A thread has up to 12 vectors of its block's share of a row and finds their maximum and sum in one sweep as they
// arrive. Those of the next row are sent for as soon as this row's have been used, so that memory is busy in both
// directions. What is left to wait for is the exchange of maxima and sums between the blocks of a cluster.
// assay: require N <= 393216 -- a row must fit the shared memory of eight blocks
// assay: let parts = N <= 12288 ? 1 : N <= 24576 ? 2 : N <= 49152 ? 4 : 8
// assay: let share = round_up(ceil_div(N, parts), 4)
// assay: let rows = max(1, min(8, M / 128))
// assay: launch softmax grid=ceil_div(M, rows) * parts block=1024 cluster=parts shared=512 + share * 4 \
//   args=x, y, M, N, share, rows
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

#define INF __int_as_float(0x7f800000)

enum { THREADS = 1024, SLOTS = 12, GROUPS = 4, NONE = -4 };

extern __shared__ float4 memory[]; // sums of the warps, sums of the block, and from byte 512 on vectors of a row

static __device__ void copy_async(float4 *to, const float4 *from) {
  unsigned int at = (unsigned int)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
}

static __device__ void copy_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until all groups of this thread but the last N have arrived.
template <int N> static __device__ void copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

// What a block has of a row: whole vectors, and up to three elements on either side of them.
struct piece {
  const float *x; // the first vector
  float *y;
  int vectors;
  int edge; // this thread's element outside of the vectors, counted from the first vector, or NONE
};

static __device__ piece piece_of(const float *x, float *y, int row, int n, int share) {
  int begin = min(n, (int)__clusterRelativeBlockRank() * share), count = min(n - begin, share);
  long long at = (long long)row * n + begin;
  int head = min((int)(-at & 3), count), vectors = (count - head) / 4, tail = count - head - vectors * 4;
  int t = (int)threadIdx.x, edge = NONE;
  if (t < head)
    edge = t - head;
  else if (t >= 4 && t - 4 < tail)
    edge = vectors * 4 + t - 4;
  return {x + at + head, y + at + head, vectors, edge};
}

// Sends for a quarter of this thread's vectors. Only the thread itself uses them: no barrier is needed.
static __device__ void fetch(float4 *slots, const piece &p, int group) {
#pragma unroll
  for (int k = group * SLOTS / GROUPS; k < (group + 1) * SLOTS / GROUPS; k++)
    if (k * THREADS + (int)threadIdx.x < p.vectors)
      copy_async(&slots[k * THREADS], (const float4 *)p.x + k * THREADS + threadIdx.x);
  copy_commit();
}

static __device__ float exp_to(float x, float max) {
#ifdef NO_MAX
  return expf(x);
#else
  return expf(x - max);
#endif
}

// Takes a group of vectors into this thread's maximum and sum when they have arrived.
template <int GROUP> static __device__ void take(const float4 *slots, const piece &p, float *max, float *sum) {
  copy_wait<GROUPS - 1 - GROUP>();
#pragma unroll
  for (int k = GROUP * SLOTS / GROUPS; k < (GROUP + 1) * SLOTS / GROUPS; k++) {
    if (k * THREADS + (int)threadIdx.x >= p.vectors)
      return;
    float4 v = slots[k * THREADS];
    float top = fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
    if (top > *max) {
      *sum *= exp_to(*max, top); // 0 for the first
      *max = top;
    }
    *sum += (exp_to(v.x, *max) + exp_to(v.y, *max)) + (exp_to(v.z, *max) + exp_to(v.w, *max));
  }
}

static __device__ void merge_in_warp(float *max, float *sum) {
  float top = *max;
  for (int step = 16; step > 0; step /= 2)
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, step));
#ifdef NO_RESCALE
  float s = *sum;
#else
  float s = *max == top ? *sum : *sum * exp_to(*max, top);
#endif
  for (int step = 16; step > 0; step /= 2)
    s += __shfl_xor_sync(0xffffffffu, s, step);
  *max = top, *sum = s;
}

// Maximum and sum of all threads of a cluster. Rows take turns with two places for the blocks' results, so that a block
// may go on to the next row while another still reads those of this one.
static __device__ void merge(float *max, float *sum, int row) {
  float2 *warps = (float2 *)memory, *mine = warps + THREADS / 32 + row % 2;
  int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  merge_in_warp(max, sum);
  if (lane == 0)
    warps[warp] = make_float2(*max, *sum);
  __syncthreads();
  if (warp == 0) {
    *max = warps[lane].x, *sum = warps[lane].y;
    merge_in_warp(max, sum);
    if (lane == 0)
      *mine = make_float2(*max, *sum);
  }
  __cluster_barrier_arrive();
  __cluster_barrier_wait();
  float2 other = make_float2(-INF, 0);
  if (lane < (int)__clusterSizeInBlocks())
    other = *(const float2 *)__cluster_map_shared_rank(mine, (unsigned int)lane);
  *max = other.x, *sum = other.y;
  merge_in_warp(max, sum);
}

__global__ void __launch_bounds__(THREADS)
    softmax(const float *__restrict__ x, float *__restrict__ y, int M, int N, int share, int rows) {
  float4 *slots = memory + 32 + threadIdx.x;
  int row = (int)(blockIdx.x / __clusterSizeInBlocks()) * rows, stop = min(M, row + rows);
  piece p = piece_of(x, y, row, N, share);
  for (int g = 0; g < GROUPS; g++)
    fetch(slots, p, g);
  float edge = p.edge == NONE ? -INF : __ldcs(&p.x[p.edge]);
  for (; row < stop; row++) {
    float max = edge, sum = p.edge == NONE ? 0 : exp_to(edge, max);
    take<0>(slots, p, &max, &sum);
    take<1>(slots, p, &max, &sum);
    take<2>(slots, p, &max, &sum);
    take<3>(slots, p, &max, &sum);
    merge(&max, &sum, row);
    float factor = 1 / sum;
    if (p.edge != NONE)
      p.y[p.edge] = exp_to(edge, max) * factor;
    piece next = {p.x, p.y, 0, NONE};
    if (row + 1 < stop)
      next = piece_of(x, y, row + 1, N, share);
    edge = next.edge == NONE ? -INF : __ldcs(&next.x[next.edge]);
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
#pragma unroll
      for (int k = g * SLOTS / GROUPS; k < (g + 1) * SLOTS / GROUPS; k++) {
        int i = k * THREADS + (int)threadIdx.x;
        if (i >= p.vectors)
          break;
        float4 v = slots[k * THREADS];
        __stcs((float4 *)p.y + i, make_float4(exp_to(v.x, max) * factor, exp_to(v.y, max) * factor,
                                              exp_to(v.z, max) * factor, exp_to(v.w, max) * factor));
      }
      fetch(slots, next, g);
    }
    p = next;
  }
  __cluster_barrier_arrive(); // a block's shared memory must last until all others have read it
  __cluster_barrier_wait();
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  int M = (int)args->inputs[0].dims[0], N = (int)args->inputs[0].dims[1];
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  int parts = N <= 12288 ? 1 : N <= 24576 ? 2 : N <= 49152 ? 4 : 8;
  int share = ((N + parts - 1) / parts + 3) / 4 * 4, rows = M < 256 ? 1 : M < 1024 ? M / 128 : 8;
  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = (unsigned int)parts;
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t launch = {};
  launch.gridDim = (unsigned int)((M + rows - 1) / rows * parts);
  launch.blockDim = THREADS;
  launch.dynamicSmemBytes = 512 + (size_t)share * 4;
  launch.stream = stream;
  launch.attrs = &cluster;
  launch.numAttrs = 1;
  cudaFuncSetAttribute(softmax, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)launch.dynamicSmemBytes);
  cudaLaunchKernelEx(&launch, softmax, x, y, M, N, share, rows);
}
#endif
