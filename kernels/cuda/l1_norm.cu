// Divides each row by the mean of its absolute values.
// assay: task kernelbench/1/38
// assay: twin NO_ABS expect wrong_value|wrong_class -- the mean of the values
// assay: twin WHOLE_VECTORS expect wrong_value|wrong_class -- what lies beside the whole vectors does not count
// Rows are read once: a row lies in the registers of a team of blocks, 64 KiB in each, which post sums where the others
// of the team wait for them. Meanwhile the next row arrives in shared memory: a block sends for it as soon as it has
// taken over what lay there. A posted value has the number of its round next to it, in the same eight bytes, so that
// nothing must be ordered by a fence, which would wait for what is arriving. Two blocks, of different teams, share an
// SM. Rows need not begin at multiples of 16 bytes: up to three elements before and after the whole vectors go one by
// one.
// assay: require N <= 4325376 -- a row must fit the registers of 264 blocks
// assay: let team = ceil_div(N, 16384)
// assay: let share = round_up(ceil_div(N, team), 4)
// assay: let teams = max(1, min(M, 264 / team))
// assay: scratch posts uint8[16 * teams * team]
// assay: fill posts 0
// assay: launch l1_norm grid=teams * team block=512 cooperative shared=512 + share * 4 \
//   args=x, y, posts, M, N, share, team
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 512, SLOTS = 8, GROUPS = 4, NONE = -4 };

extern __shared__ float4 memory[]; // sums of the warps and of the team, and from byte 512 on vectors of a row

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

static __device__ piece piece_of(const float *x, float *y, int row, int n, int member, int share) {
  int begin = min(n, member * share), count = min(n - begin, share);
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

static __device__ float term(float x) {
#ifdef NO_ABS
  return x;
#else
  return fabsf(x);
#endif
}

// Takes over a quarter of the vectors that have arrived, and their sum.
static __device__ float take(float4 (&v)[SLOTS], const float4 *slots, const piece &p, int group) {
  float sum = 0;
#pragma unroll
  for (int k = group * SLOTS / GROUPS; k < (group + 1) * SLOTS / GROUPS; k++)
    if (k * THREADS + (int)threadIdx.x < p.vectors) {
      v[k] = slots[k * THREADS];
      sum += (term(v[k].x) + term(v[k].y)) + (term(v[k].z) + term(v[k].w));
    }
  return sum;
}

static __device__ float sum_in_warp(float x) {
  for (int step = 16; step > 0; step /= 2)
    x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

// Eight bytes, a sum and the number of the round, are written and read at once.
static __device__ void write(unsigned long long *to, float sum, unsigned int round) {
  unsigned long long v = (unsigned long long)round << 32 | __float_as_uint(sum);
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(v) : "memory");
}

static __device__ unsigned long long read(const unsigned long long *from) {
  unsigned long long v;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(from) : "memory");
  return v;
}

// The sum over all threads of a team. What warps and blocks hand over in two rounds takes turns: who posts for the next
// round but one has seen that all have posted for the next, and so read those of this.
static __device__ float sum_in_team(float x, unsigned long long *posts, int member, int team, unsigned int round) {
  float *warps = (float *)memory + round % 2 * 32, *all = (float *)memory + 64 + round % 2;
  int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  posts += round % 2 * (unsigned int)team;
  x = sum_in_warp(x);
  if (lane == 0)
    warps[warp] = x;
  __syncthreads();
  if (warp == 0) {
    x = sum_in_warp(lane < THREADS / 32 ? warps[lane] : 0);
    if (lane == 0)
      write(&posts[member], x, round);
    x = 0;
    for (int i = lane; i < team; i += 32) {
      unsigned long long v = read(&posts[i]);
      while (v >> 32 != round)
        v = read(&posts[i]);
      x += __uint_as_float((unsigned int)v);
    }
    x = sum_in_warp(x);
    if (lane == 0)
      *all = x;
  }
  __syncthreads();
  return *all;
}

// Quotients by the same number, whose reciprocal is taken once; rounding is mended. Numbers whose reciprocal is not
// accurate, or not finite, are divided by.
struct divisor {
  float by, reciprocal;
  bool fast;
  __device__ float of(float x) const {
    float q = x * reciprocal;
    return fast ? fmaf(fmaf(-q, by, x), reciprocal, q) : x / by;
  }
  __device__ float4 of(float4 v) const { return make_float4(of(v.x), of(v.y), of(v.z), of(v.w)); }
};

__global__ void __launch_bounds__(THREADS, 2) l1_norm(const float *__restrict__ x, float *__restrict__ y,
                                                      unsigned long long *posts, int M, int N, int share, int team) {
  float4 *slots = memory + 32 + threadIdx.x, v[SLOTS];
  int member = (int)blockIdx.x % team, row = (int)blockIdx.x / team, step = (int)gridDim.x / team;
  posts += 2 * ((int)blockIdx.x - member); // of this team
  piece p = piece_of(x, y, row, N, member, share);
#pragma unroll
  for (int g = 0; g < GROUPS; g++)
    fetch(slots, p, g);
  float edge = p.edge == NONE ? 0 : __ldcs(&p.x[p.edge]);
  for (unsigned int round = 1; row < M; row += step, round++) {
    piece next = {p.x, p.y, 0, NONE};
    if (row + step < M)
      next = piece_of(x, y, row + step, N, member, share);
#ifdef WHOLE_VECTORS
    float sum = 0;
#else
    float sum = term(edge);
#endif
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
      copy_wait<GROUPS - 1>();
      sum += take(v, slots, p, g);
      fetch(slots, next, g);
    }
    float coming = next.edge == NONE ? 0 : __ldcs(&next.x[next.edge]);
    float by = sum_in_team(sum, posts, member, team, round) / (float)N;
    const divisor d = {by, 1 / by, by >= 0x1p-100f && by <= 0x1p100f};
    if (p.edge != NONE)
      p.y[p.edge] = d.of(edge);
#pragma unroll
    for (int k = 0; k < SLOTS; k++) {
      int i = k * THREADS + (int)threadIdx.x;
      if (i >= p.vectors)
        break;
      __stcs((float4 *)p.y + i, d.of(v[k]));
    }
    edge = coming;
    p = next;
  }
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  int M = (int)args->inputs[0].dims[0], N = (int)args->inputs[0].dims[1];
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  int team = (N + 16383) / 16384, share = ((N + team - 1) / team + 3) / 4 * 4;
  int teams = 264 / team < M ? 264 / team : M;
  unsigned long long *posts;
  cudaMallocAsync((void **)&posts, 2 * (size_t)(teams * team) * sizeof *posts, stream);
  cudaMemsetAsync(posts, 0, 2 * (size_t)(teams * team) * sizeof *posts, stream);
  cudaLaunchAttribute cooperative;
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t launch = {};
  launch.gridDim = (unsigned int)(teams * team);
  launch.blockDim = THREADS;
  launch.dynamicSmemBytes = 512 + (size_t)share * 4;
  launch.stream = stream;
  launch.attrs = &cooperative;
  launch.numAttrs = 1;
  cudaFuncSetAttribute(l1_norm, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)launch.dynamicSmemBytes);
  cudaLaunchKernelEx(&launch, l1_norm, x, y, posts, M, N, share, team);
  cudaFreeAsync(posts, stream);
}
#endif
