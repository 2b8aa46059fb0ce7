// Instance normalisation without scale and shift.
// assay: task kernelbench/1/34
// assay: twin ONE_PASS expect wrong_value|wrong_class|low_precision -- variance as E[x^2] - E[x]^2
// assay: twin UNBIASED expect wrong_value|wrong_class -- divides the squares by n - 1
// The tensor is read once: a plane lies in the registers of a team of blocks, 64 KiB in each, which post means and
// squares where the others of the team wait for them. Meanwhile the next plane arrives in shared memory: a block sends
// for it as soon as it has taken over what lay there. A posted value has the number of its round next to it, in the
// same eight bytes, so that nothing must be ordered by a fence, which would wait for what is arriving. Two blocks, of
// different teams, share an SM. Where planes do not begin at multiples of 16 bytes or are too large, a block makes a
// plane and reads it more than once.
// assay: let planes = N * C
// assay: let plane = H * W
// assay: let wide = plane % 4 == 0 && plane <= 4325376
// assay: let team = ceil_div(plane, 16384)
// assay: let share = round_up(ceil_div(plane, team), 4)
// assay: let teams = max(1, min(planes, 264 / team))
// assay: scratch posts uint8[64 * teams * team]
// assay: fill posts 0 if=wide
// assay: launch instance_norm grid=teams * team block=512 cooperative shared=512 + share * 4 if=wide \
//   args=x, y, posts, planes, plane, share, team
// assay: launch instance_norm_plain grid=planes block=512 shared=512 if=!wide args=x, y, plane
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { TEAM_THREADS = 512, SLOTS = 8, GROUPS = 4 };

extern __shared__ float4 memory[]; // sums of the warps, and from byte 512 on a block's vectors of a plane

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

static __device__ double sum_in_warp(double x) {
  for (int step = 16; step > 0; step /= 2)
    x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

// The sum over all threads of a block, in each of them.
static __device__ double sum_in_block(double x, double *warps) {
  x = sum_in_warp(x);
  __syncthreads(); // the sums of the call before have been read
  if (threadIdx.x % 32 == 0)
    warps[threadIdx.x / 32] = x;
  __syncthreads();
  return sum_in_warp(threadIdx.x % 32 < blockDim.x / 32 ? warps[threadIdx.x % 32] : 0);
}

// Sends for a quarter of this thread's vectors. Only the thread itself uses them: no barrier is needed.
static __device__ void fetch(float4 *slots, const float4 *from, int vectors, int quarter) {
#pragma unroll
  for (int k = quarter * SLOTS / GROUPS; k < (quarter + 1) * SLOTS / GROUPS; k++)
    if (k * TEAM_THREADS + (int)threadIdx.x < vectors)
      copy_async(&slots[k * TEAM_THREADS], &from[k * TEAM_THREADS]);
  copy_commit();
}

// Takes over a quarter of the vectors that have arrived, zeros where there are none, and their sum.
static __device__ float take(float4 (&v)[SLOTS], const float4 *slots, int vectors, int quarter) {
  float sum = 0;
#pragma unroll
  for (int k = quarter * SLOTS / GROUPS; k < (quarter + 1) * SLOTS / GROUPS; k++) {
    v[k] = make_float4(0, 0, 0, 0);
    if (k * TEAM_THREADS + (int)threadIdx.x < vectors)
      v[k] = slots[k * TEAM_THREADS];
    sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
  }
  return sum;
}

// What this thread's elements differ from a number by, summed, and the squares of it.
static __device__ float2 differences(const float4 (&v)[SLOTS], int vectors, float from) {
  float sum = 0, squares = 0;
#pragma unroll
  for (int k = 0; k < SLOTS; k++)
    if (k * TEAM_THREADS + (int)threadIdx.x < vectors) {
      float4 d = make_float4(v[k].x - from, v[k].y - from, v[k].z - from, v[k].w - from);
      sum += (d.x + d.y) + (d.z + d.w);
      squares += (d.x * d.x + d.y * d.y) + (d.z * d.z + d.w * d.w);
    }
  return make_float2(sum, squares);
}

// The halves of two doubles, each with the number of the round.
struct post {
  ulonglong2 mean, squares;
};

static __device__ ulonglong2 sealed(double x, unsigned int round) {
  unsigned long long bits = (unsigned long long)__double_as_longlong(x), seal = (unsigned long long)round << 32;
  return make_ulonglong2(seal | bits >> 32, seal | (bits & 0xffffffff));
}

static __device__ double opened(ulonglong2 v) {
  return __longlong_as_double((long long)(v.x << 32 | (v.y & 0xffffffff)));
}

static __device__ bool is_of(ulonglong2 v, unsigned int round) {
  return v.x >> 32 == round && v.y >> 32 == round;
}

// Eight bytes at a time are written and read at once.
static __device__ void write(ulonglong2 *to, ulonglong2 v) {
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(v.x), "l"(v.y) : "memory");
}

static __device__ ulonglong2 read(const ulonglong2 *from) {
  ulonglong2 v;
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(v.x), "=l"(v.y) : "l"(from) : "memory");
  return v;
}

// Mean and squares of another block of the team, when it has posted those of this round. Posts of two rounds take
// turns: who posts for the next round but one has seen that all have posted for the next, and so read those of this.
static __device__ double2 wait_for(const struct post *from, unsigned int round) {
  struct post p = {read(&from->mean), read(&from->squares)};
  while (!is_of(p.mean, round) || !is_of(p.squares, round)) {
    __nanosleep(64); // reading on and on would be in the way of what arrives
    p.mean = read(&from->mean), p.squares = read(&from->squares);
  }
  return make_double2(opened(p.mean), opened(p.squares));
}

// One over the standard deviation of n elements, of which the sum and the squares are known as they differ from a
// number near the mean.
static __device__ float factor_of(double off, double squares, int n) {
#ifdef ONE_PASS
  float mean = (float)(off / n);
  squares = ((float)(squares / n) - mean * mean) * (double)n;
#else
  squares -= off * off / n;
#endif
#ifdef UNBIASED
  double variance = fmax(squares, 0.0) / (n - 1);
#else
  double variance = fmax(squares, 0.0) / n;
#endif
  return (float)(1 / sqrt(variance + 1e-5));
}

__global__ void __launch_bounds__(TEAM_THREADS, 2)
    instance_norm(const float *__restrict__ x, float *__restrict__ y, struct post *posts, int planes, int length,
                  int share, int team) {
  double *warps = (double *)memory;
  float4 *slots = memory + 32 + threadIdx.x, v[SLOTS];
  int member = (int)blockIdx.x % team, plane = (int)blockIdx.x / team, step = (int)gridDim.x / team;
  int begin = min(length, member * share), count = min(share, length - begin), vectors = count / 4;
  const float4 *from = (const float4 *)(x + begin) + threadIdx.x;
  float4 *to = (float4 *)(y + begin) + threadIdx.x;
#pragma unroll
  for (int g = 0; g < GROUPS; g++)
    fetch(slots, from + (long long)plane * length / 4, plane < planes ? vectors : 0, g);
  posts += 2 * ((int)blockIdx.x - member); // of this team
  for (unsigned int round = 1; plane < planes; plane += step, round++) {
    float some = 0;
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
      copy_wait<GROUPS - 1>();
      some += take(v, slots, vectors, g);
      fetch(slots, from + (long long)(plane + step) * length / 4, plane + step < planes ? vectors : 0, g);
    }
    // Of this block's share: about its mean, and by how much it is that, and the squares of what differs from it.
    float near = (float)(sum_in_block(some, warps) / max(count, 1));
#ifdef ONE_PASS
    near = 0;
#endif
    float2 d = differences(v, vectors, near);
    double over = sum_in_block(d.x, warps), own = near + over / max(count, 1);
    double squares = sum_in_block(d.y, warps) - over * over / max(count, 1);
    struct post *of_round = posts + round % 2 * (unsigned int)team;
    if (threadIdx.x == 0) {
      write(&of_round[member].mean, sealed(own, round));
      write(&of_round[member].squares, sealed(squares, round));
    }
    // Of all shares, seen from this block's mean.
    double off = 0;
    squares = 0;
    if ((int)threadIdx.x < team) {
      double2 p = wait_for(&of_round[threadIdx.x], round);
      double n = max(0, min(share, length - (int)threadIdx.x * share)), far = p.x - near;
      off = n * far;
      squares = p.y + n * far * far;
    }
    off = sum_in_block(off, warps);
    squares = sum_in_block(squares, warps);
    double mean = near + off / length;
    float high = (float)mean, factor = factor_of(off, squares, length), shift = -(float)(mean - high) * factor;
#pragma unroll
    for (int k = 0; k < SLOTS; k++) {
      if (k * TEAM_THREADS + (int)threadIdx.x >= vectors)
        break;
      __stcs(&to[(long long)plane * length / 4 + k * TEAM_THREADS],
             make_float4(fmaf(v[k].x - high, factor, shift), fmaf(v[k].y - high, factor, shift),
                         fmaf(v[k].z - high, factor, shift), fmaf(v[k].w - high, factor, shift)));
    }
  }
}

// Any shape: a block makes a plane.
__global__ void __launch_bounds__(TEAM_THREADS)
    instance_norm_plain(const float *__restrict__ x, float *__restrict__ y, int length) {
  double *warps = (double *)memory;
  x += (long long)blockIdx.x * length;
  y += (long long)blockIdx.x * length;
  double sum = 0, squares = 0, over = 0;
  for (int i = (int)threadIdx.x; i < length; i += TEAM_THREADS)
    sum += x[i];
  float near = (float)(sum_in_block(sum, warps) / length);
#ifdef ONE_PASS
  near = 0;
#endif
  for (int i = (int)threadIdx.x; i < length; i += TEAM_THREADS) {
    float d = x[i] - near;
    over += d;
    squares += d * d;
  }
  over = sum_in_block(over, warps);
  squares = sum_in_block(squares, warps);
  double mean = near + over / length;
  float high = (float)mean, factor = factor_of(over, squares, length), shift = -(float)(mean - high) * factor;
  for (int i = (int)threadIdx.x; i < length; i += TEAM_THREADS)
    y[i] = fmaf(x[i] - high, factor, shift);
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const int64_t *dims = args->inputs[0].dims;
  int planes = (int)(dims[0] * dims[1]), plane = (int)(dims[2] * dims[3]);
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  if (plane % 4 != 0 || plane > 4325376) {
    instance_norm_plain<<<(unsigned int)planes, TEAM_THREADS, 512, stream>>>(x, y, plane);
    return;
  }
  int team = (plane + 16383) / 16384, share = ((plane + team - 1) / team + 3) / 4 * 4;
  int teams = 264 / team < planes ? 264 / team : planes;
  struct post *posts;
  cudaMallocAsync((void **)&posts, 2 * (size_t)(teams * team) * sizeof *posts, stream);
  cudaMemsetAsync(posts, 0, 2 * (size_t)(teams * team) * sizeof *posts, stream);
  cudaLaunchAttribute cooperative;
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t launch = {};
  launch.gridDim = (unsigned int)(teams * team);
  launch.blockDim = TEAM_THREADS;
  launch.dynamicSmemBytes = 512 + (size_t)share * 4;
  launch.stream = stream;
  launch.attrs = &cooperative;
  launch.numAttrs = 1;
  cudaFuncSetAttribute(instance_norm, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)launch.dynamicSmemBytes);
  cudaLaunchKernelEx(&launch, instance_norm, x, y, posts, planes, plane, share, team);
  cudaFreeAsync(posts, stream);
}
#endif
