// SPDX-License-Identifier: Apache-2.0
// What limits a kernel at best: memory, and the arithmetic of single threads (device/monitor.h).

// Each block moves one tile of consecutive 16-byte pieces, several by each thread before the first is used.
enum { PIECES = 8 };

template <bool streaming> static __device__ __forceinline__ uint4 load(const uint4 *p) {
  return streaming ? __ldcs(p) : *p;
}

template <bool streaming> static __device__ __forceinline__ void store(uint4 *p, uint4 v) {
  if (streaming)
    __stcs(p, v);
  else
    *p = v;
}

template <bool streaming> static __device__ __forceinline__ void copy(uint4 *to, const uint4 *from) {
  unsigned long long at = (unsigned long long)blockIdx.x * blockDim.x * PIECES + threadIdx.x;
  uint4 v[PIECES];
#pragma unroll
  for (int i = 0; i < PIECES; i++)
    v[i] = load<streaming>(from + at + i * blockDim.x);
#pragma unroll
  for (int i = 0; i < PIECES; i++)
    store<streaming>(to + at + i * blockDim.x, v[i]);
}

extern "C" __global__ void __launch_bounds__(512) peak_copy(uint4 *to, const uint4 *from) { copy<false>(to, from); }
extern "C" __global__ void __launch_bounds__(512) peak_copy_streaming(uint4 *to, const uint4 *from) {
  copy<true>(to, from);
}

extern "C" __global__ void __launch_bounds__(512) peak_read(uint4 *sink, const uint4 *from) {
  unsigned long long at = (unsigned long long)blockIdx.x * blockDim.x * PIECES + threadIdx.x;
  uint4 v[PIECES];
  unsigned int sum = 0;
#pragma unroll
  for (int i = 0; i < PIECES; i++)
    v[i] = __ldcs(from + at + i * blockDim.x);
#pragma unroll
  for (int i = 0; i < PIECES; i++)
    sum ^= v[i].x ^ v[i].y ^ v[i].z ^ v[i].w;
  if (sum == 0x5eed5eedu) // happens, if ever, so rarely that it costs nothing
    sink->x = sum;
}

extern "C" __global__ void __launch_bounds__(512) peak_write(uint4 *to, const uint4 *unused) {
  unsigned long long at = (unsigned long long)blockIdx.x * blockDim.x * PIECES + threadIdx.x;
  unsigned int x = (unsigned int)at * 2654435761u;
#pragma unroll
  for (int i = 0; i < PIECES; i++)
    __stcs(to + at + i * blockDim.x, make_uint4(x, ~x, x ^ i, x + i));
}

// 16 chains of 16 steps: 512 operations of each thread in an iteration.
template <typename real> static __device__ __forceinline__ void multiply_add(int iterations, real *sink) {
  real c[16], x = (real)0.999 + (real)threadIdx.x * (real)1e-6, y = (real)0.001 * (real)(threadIdx.x + 1);
#pragma unroll
  for (int i = 0; i < 16; i++)
    c[i] = y + (real)i;
  for (int k = 0; k < iterations; k++)
#pragma unroll
    for (int j = 0; j < 16; j++)
#pragma unroll
      for (int i = 0; i < 16; i++)
        c[i] = c[i] * x + y;
  real sum = 0;
#pragma unroll
  for (int i = 0; i < 16; i++)
    sum += c[i];
  if (sum == (real)-1)
    *sink = sum;
}

extern "C" __global__ void __launch_bounds__(256) peak_fp32(int iterations, float *sink) {
  multiply_add(iterations, sink);
}

extern "C" __global__ void __launch_bounds__(256) peak_fp64(int iterations, double *sink) {
  multiply_add(iterations, sink);
}

#if __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900
// Products of double matrices out of registers, 131072 operations of each warp in an iteration; on the architectures
// whose tensor cores do them.
static __device__ __forceinline__ double some(int i) { return 1.0 / (threadIdx.x + 3 * i + 2) - 0.05; }

extern "C" __global__ void __launch_bounds__(256) peak_fp64_matrix(int iterations, double *sink) {
  double c[8][4] = {}, a[8], b[4];
  for (int i = 0; i < 8; i++)
    a[i] = some(i);
  for (int i = 0; i < 4; i++)
    b[i] = some(8 + i);
  for (int k = 0; k < iterations; k++) {
#if __CUDA_ARCH__ == 900
#pragma unroll
    for (int j = 0; j < 4; j++)
#pragma unroll
      for (int i = 0; i < 8; i++)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
                     "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
                     : "+d"(c[i][0]), "+d"(c[i][1]), "+d"(c[i][2]), "+d"(c[i][3])
                     : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
                       "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
#else
#pragma unroll 8
    for (int j = 0; j < 32; j++)
#pragma unroll
      for (int i = 0; i < 8; i++)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(c[i][0]), "+d"(c[i][1])
                     : "d"(a[i]), "d"(b[i % 4]));
#endif
  }
  double sum = 0;
  for (int i = 0; i < 8; i++)
    sum += c[i][0] + c[i][1] + c[i][2] + c[i][3];
  if (sum == 1.25)
    *sink = sum;
}
#endif
