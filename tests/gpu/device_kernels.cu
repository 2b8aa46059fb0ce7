// SPDX-License-Identifier: Apache-2.0
// Kernels of tests/gpu/device.c: good ones, bad ones, and ones whose time is known.

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = a[i] + b[i];
}

extern "C" __global__ void read_at(const float *from, long long index, float *to) { *to = from[index]; }
extern "C" __global__ void write_at(float *to, long long index) { to[index] = 1.0f; }
extern "C" __global__ void misaligned(float *to) { *(volatile float *)((char *)to + 2) = 1.0f; }
extern "C" __global__ void trap() { asm volatile("trap;"); }

extern "C" {
__device__ float table[256];
}
extern "C" __global__ void scale(const float *x, float *y, float by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i] * by;
}
extern "C" __global__ void combine(float *y, const float *t, const float *k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] += t[i] + table[i % 256] + k[i];
}

// Its dynamic memory is more than a kernel gets by default.
extern "C" __global__ void reverse(const float *x, float *y, int n) {
  extern __shared__ float row[];
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    row[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = row[n - 1 - i];
}

// What it has never written.
extern "C" __global__ void read_shared(unsigned int *to) {
  extern __shared__ unsigned int left[];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x)
    to[i] = ((volatile unsigned int *)left)[i];
}

// Needs local memory, far more than the device has made room for.
extern "C" __global__ void local_memory(const float *x, float *y, int n) {
  float mine[4096];
  for (int i = 0; i < 4096; i++)
    mine[(i * 17 + n) & 4095] = x[i & 1023];
  y[threadIdx.x] = mine[(threadIdx.x * 17 + n) & 4095];
}

extern "C" __global__ void empty() {}

extern "C" __global__ void busy(long long cycles) {
  long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

static __device__ unsigned long long clock_ns() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// Works for a while, and then moves a stamp of its own start to where it would have begun much later.
extern "C" __global__ void forge(long long stamp, long long work_ns) {
  unsigned long long start = clock_ns();
  while (clock_ns() - start < work_ns) {
  }
  volatile unsigned long long *at = (volatile unsigned long long *)stamp;
  if (stamp && start - *at < 1000000)
    *at += work_ns * 3 / 4;
}

extern "C" __global__ void copy_pieces(const uint4 *from, uint4 *to, long long n) {
  long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
    to[i] = from[i];
}

static __device__ __forceinline__ void keep(unsigned int sum, uint4 *sink) {
  if (sum == 0x12345679u)
    sink->x = sum;
}

extern "C" __global__ void reduce(const uint4 *from, uint4 *sink, long long n) {
  unsigned int sum = 0;
  long long step = (long long)gridDim.x * blockDim.x;
#pragma unroll 4
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
    uint4 v = from[i];
    sum += v.x ^ v.y ^ v.z ^ v.w;
  }
  keep(sum, sink);
}

// The same, asking the cache to keep what was read longer than anything else.
extern "C" __global__ void reduce_persisting(const uint4 *from, uint4 *sink, long long n) {
  unsigned int sum = 0;
  long long step = (long long)gridDim.x * blockDim.x;
  unsigned long long policy;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
#pragma unroll 4
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
    uint4 v;
    asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from + i), "l"(policy));
    sum += v.x ^ v.y ^ v.z ^ v.w;
  }
  keep(sum, sink);
}

#if __CUDA_ARCH__ >= 900

extern "C" __global__ void cluster_ranks(unsigned int *out) {
  unsigned int rank, size;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  if (threadIdx.x == 0)
    out[blockIdx.x] = rank + 100 * size;
}

// Writes late, after the next kernel was allowed to begin.
extern "C" __global__ void late(unsigned int *to, long long cycles) {
  asm volatile("griddepcontrol.launch_dependents;");
  long long start = clock64();
  while (clock64() - start < cycles) {
  }
  to[threadIdx.x] = threadIdx.x * 3;
}

extern "C" __global__ void after(const unsigned int *from, unsigned int *to) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  to[threadIdx.x] = *(volatile const unsigned int *)(from + threadIdx.x) + 1;
}

struct __align__(64) tensor_map {
  unsigned long long words[16];
};

// A tile of 16 by 16 floats at column 8, row 4, by the copy engine.
extern "C" __global__ void tile_by_map(const __grid_constant__ tensor_map map, float *out) {
  __shared__ __align__(128) float tile[256];
  __shared__ unsigned long long barrier;
  unsigned int at = (unsigned int)__cvta_generic_to_shared(&barrier);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" ::"r"(at) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
                     "r"((unsigned int)__cvta_generic_to_shared(tile)),
                 "l"(&map), "r"(8), "r"(4), "r"(at)
                 : "memory");
  }
  __syncthreads();
  unsigned int done = 0;
  while (!done)
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(at)
                 : "memory");
  out[threadIdx.x] = tile[threadIdx.x];
}

#endif
