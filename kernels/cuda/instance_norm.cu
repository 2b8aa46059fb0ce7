// Instance normalisation without scale and shift.
// assay: task kernelbench/1/34
// assay: twin ONE_PASS expect wrong_value|wrong_class|low_precision -- variance as E[x^2] - E[x]^2
// assay: twin UNBIASED expect wrong_value|wrong_class -- divides the squares by n - 1
// Planes are read once: a plane lies in the shared memory of a cluster of up to eight blocks, which take its mean,
// then the squares of what differs from it. The vectors of the next plane are sent for as soon as those of this one
// have been used. What is left to wait for are two exchanges of sums between the blocks of a cluster.
// assay: let planes = N * C
// assay: let plane = H * W
// assay: require plane <= 393216 -- a plane must fit the shared memory of eight blocks
// assay: let parts = plane <= 8192 ? 1 : plane <= 16384 ? 2 : plane <= 32768 ? 4 : 8
// assay: let share = round_up(ceil_div(plane, parts), 4)
// assay: let rows = max(1, min(8, planes / 128))
// assay: launch instance_norm grid=ceil_div(planes, rows) * parts block=1024 cluster=parts shared=512 + share * 4 \
//   args=x, y, planes, plane, share, rows
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

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
  int edge; // the element beside the vectors that is this thread's, counted from the first vector, or NONE
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

static __device__ float total(float4 v) {
  return (v.x + v.y) + (v.z + v.w);
}

// Takes a group of vectors into this thread's sum when they have arrived.
template <int GROUP> static __device__ float sum_of(const float4 *slots, const piece &p) {
  copy_wait<GROUPS - 1 - GROUP>();
  float sum = 0;
#pragma unroll
  for (int k = GROUP * SLOTS / GROUPS; k < (GROUP + 1) * SLOTS / GROUPS; k++)
    if (k * THREADS + (int)threadIdx.x < p.vectors)
      sum += total(slots[k * THREADS]);
  return sum;
}

// What this thread's elements differ from the mean by, summed, and the squares of it.
static __device__ float2 differences(const float4 *slots, const piece &p, float edge, float mean) {
  float first = p.edge == NONE ? 0 : edge - mean, sum = first, squares = first * first;
#pragma unroll
  for (int k = 0; k < SLOTS; k++) {
    if (k * THREADS + (int)threadIdx.x >= p.vectors)
      break;
    float4 v = slots[k * THREADS];
    float4 d = make_float4(v.x - mean, v.y - mean, v.z - mean, v.w - mean);
    sum += total(d);
    squares += total(make_float4(d.x * d.x, d.y * d.y, d.z * d.z, d.w * d.w));
  }
  return make_float2(sum, squares);
}

static __device__ float2 sum_in_warp(float2 x) {
  for (int step = 16; step > 0; step /= 2)
    x.x += __shfl_xor_sync(0xffffffffu, x.x, step), x.y += __shfl_xor_sync(0xffffffffu, x.y, step);
  return x;
}

// Two sums over all threads of a cluster. Calls take turns with two places for the blocks' sums, so that a block may go
// on while another still reads those of this call.
static __device__ float2 sum_in_cluster(float2 x, int turn) {
  float2 *warps = (float2 *)memory, *mine = warps + 32 + turn % 2;
  int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  x = sum_in_warp(x);
  if (lane == 0)
    warps[warp] = x;
  __syncthreads();
  if (warp == 0) {
    x = sum_in_warp(warps[lane]);
    if (lane == 0)
      *mine = x;
  }
  __cluster_barrier_arrive();
  __cluster_barrier_wait();
  float2 other = make_float2(0, 0);
  if (lane < (int)__clusterSizeInBlocks())
    other = *(const float2 *)__cluster_map_shared_rank(mine, (unsigned int)lane);
  return sum_in_warp(other);
}

__global__ void __launch_bounds__(THREADS)
    instance_norm(const float *__restrict__ x, float *__restrict__ y, int M, int N, int share, int rows) {
  float4 *slots = memory + 32 + threadIdx.x;
  int row = (int)(blockIdx.x / __clusterSizeInBlocks()) * rows, stop = min(M, row + rows);
  piece p = piece_of(x, y, row, N, share);
  for (int g = 0; g < GROUPS; g++)
    fetch(slots, p, g);
  float edge = p.edge == NONE ? 0 : __ldcs(&p.x[p.edge]);
  for (; row < stop; row++) {
    float sum = edge;
    sum += sum_of<0>(slots, p) + sum_of<1>(slots, p);
    sum += sum_of<2>(slots, p) + sum_of<3>(slots, p);
    float mean = sum_in_cluster(make_float2(sum, 0), 0).x / (float)N;
#ifdef ONE_PASS
    float2 d = sum_in_cluster(differences(slots, p, edge, 0), 1);
    float off = 0, variance = d.y / (float)N - mean * mean;
#else
    // The second sweep finds what rounding has made the mean be off by.
    float2 d = sum_in_cluster(differences(slots, p, edge, mean), 1);
    float off = d.x / (float)N, variance = fmaxf(d.y / (float)N - off * off, 0);
#endif
#ifdef UNBIASED
    variance *= (float)N / (float)(N - 1);
#endif
    float factor = 1 / sqrtf(variance + 1e-5f), shift = -off * factor;
    if (p.edge != NONE)
      p.y[p.edge] = fmaf(edge - mean, factor, shift);
    piece next = {p.x, p.y, 0, NONE};
    if (row + 1 < stop)
      next = piece_of(x, y, row + 1, N, share);
    edge = next.edge == NONE ? 0 : __ldcs(&next.x[next.edge]);
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
#pragma unroll
      for (int k = g * SLOTS / GROUPS; k < (g + 1) * SLOTS / GROUPS; k++) {
        int i = k * THREADS + (int)threadIdx.x;
        if (i >= p.vectors)
          break;
        float4 v = slots[k * THREADS];
        __stcs((float4 *)p.y + i, make_float4(fmaf(v.x - mean, factor, shift), fmaf(v.y - mean, factor, shift),
                                              fmaf(v.z - mean, factor, shift), fmaf(v.w - mean, factor, shift)));
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
  const int64_t *dims = args->inputs[0].dims;
  int M = (int)(dims[0] * dims[1]), N = (int)(dims[2] * dims[3]);
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  int parts = N <= 8192 ? 1 : N <= 16384 ? 2 : N <= 32768 ? 4 : 8;
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
  cudaFuncSetAttribute(instance_norm, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)launch.dynamicSmemBytes);
  cudaLaunchKernelEx(&launch, instance_norm, x, y, M, N, share, rows);
}
#endif
