// SPDX-License-Identifier: Apache-2.0
// Matrix products at the tensor cores' own speed: all data lies in shared memory or registers, so that nothing but the
// units themselves (and their power) limits them. The data is random and signed: zeros would draw less power and clock
// higher. A block has 128 threads and does the same operations in an iteration on every architecture:
// 2 * 4194304 for 16-bit data, half of it for tf32.

static __device__ __forceinline__ unsigned int next_random(unsigned int &state) {
  state = state * 1664525u + 1013904223u;
  unsigned int x = state ^ (state >> 15);
  x *= 0x2c1b3c6du;
  return x ^ (x >> 13);
}

// Uniform in [-1, 1).
static __device__ __forceinline__ float next_float(unsigned int &state) {
  return (float)(int)next_random(state) * 4.656612873e-10f;
}

static __device__ __forceinline__ unsigned int pair_of_bf16(unsigned int &state) {
  unsigned int r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(next_float(state)), "f"(next_float(state)));
  return r;
}

static __device__ __forceinline__ unsigned int pair_of_fp16(unsigned int &state) {
  unsigned int r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(next_float(state)), "f"(next_float(state)));
  return r;
}

static __device__ __forceinline__ unsigned int word_of_tf32(unsigned int &state) {
  return __float_as_uint(next_float(state)) & 0xffffe000u;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// Hopper: warp groups multiply out of shared memory. Tiles are rows of 128 bytes in groups of eight, swizzled by 128
// bytes; the order does not matter for random data.
enum { A_BYTES = 64 * 128, B_BYTES = 256 * 128, STAGES = 2 };

#define ACCUMULATORS_8(i)                                                                                              \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]),          \
      "+f"(d[i + 7])
#define ACCUMULATORS_32(i) ACCUMULATORS_8(i), ACCUMULATORS_8(i + 8), ACCUMULATORS_8(i + 16), ACCUMULATORS_8(i + 24)
#define ACCUMULATOR_NAMES \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15," \
  " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31," \
  " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47," \
  " %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63," \
  " %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79," \
  " %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95," \
  " %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111," \
  " %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
#define WGMMA(shape_and_types, transposes, a, b)                                                                       \
  "wgmma.mma_async.sync.aligned." shape_and_types " " ACCUMULATOR_NAMES a ", " b ", 1, 1, 1" transposes ";\n"
// Eight products, four steps along the rows of A and of both stages of B, as one group that is waited for: meanwhile
// the other blocks multiply. One statement, since compilers are slow at many of so many operands.
#define GROUP(kind, transposes)                                                                                        \
  asm volatile("wgmma.fence.sync.aligned;\n"                                                                           \
               WGMMA(kind, transposes, "%128", "%132") WGMMA(kind, transposes, "%129", "%133")                         \
               WGMMA(kind, transposes, "%130", "%134") WGMMA(kind, transposes, "%131", "%135")                         \
               WGMMA(kind, transposes, "%128", "%136") WGMMA(kind, transposes, "%129", "%137")                         \
               WGMMA(kind, transposes, "%130", "%138") WGMMA(kind, transposes, "%131", "%139")                         \
               "wgmma.commit_group.sync.aligned;\n"                                                                    \
               "wgmma.wait_group.sync.aligned 0;"                                                                      \
               : ACCUMULATORS_32(0), ACCUMULATORS_32(32), ACCUMULATORS_32(64), ACCUMULATORS_32(96)                     \
               : "l"(a), "l"(a + 2), "l"(a + 4), "l"(a + 6), "l"(b), "l"(b + 2), "l"(b + 4), "l"(b + 6),               \
                 "l"(b + B_BYTES / 16), "l"(b + B_BYTES / 16 + 2), "l"(b + B_BYTES / 16 + 4),                          \
                 "l"(b + B_BYTES / 16 + 6)                                                                             \
               : "memory")

struct bf16_product {
  static __device__ __forceinline__ unsigned int word(unsigned int &state) { return pair_of_bf16(state); }
  static __device__ __forceinline__ void multiply(float (&d)[128], unsigned long long a, unsigned long long b) {
    GROUP("m64n256k16.f32.bf16.bf16", ", 0, 0");
  }
};

struct fp16_product {
  static __device__ __forceinline__ unsigned int word(unsigned int &state) { return pair_of_fp16(state); }
  static __device__ __forceinline__ void multiply(float (&d)[128], unsigned long long a, unsigned long long b) {
    GROUP("m64n256k16.f32.f16.f16", ", 0, 0");
  }
};

struct tf32_product {
  static __device__ __forceinline__ unsigned int word(unsigned int &state) { return word_of_tf32(state); }
  static __device__ __forceinline__ void multiply(float (&d)[128], unsigned long long a, unsigned long long b) {
    GROUP("m64n256k8.f32.tf32.tf32", "");
  }
};

// The matrix descriptor of a K-major tile: address, 1024 bytes between groups of eight rows, swizzle of 128 bytes.
static __device__ __forceinline__ unsigned long long descriptor(const void *p) {
  unsigned int address = (unsigned int)__cvta_generic_to_shared(p);
  return (unsigned long long)((address & 0x3ffffu) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

template <typename product> static __device__ __forceinline__ void matrix(int iterations, float *sink) {
  extern __shared__ __align__(1024) unsigned char tiles[]; // one of A, then STAGES of B
  float d[128];
  unsigned int state = blockIdx.x * 128u + threadIdx.x + 1u;
  for (unsigned int i = threadIdx.x; i < (A_BYTES + STAGES * B_BYTES) / 4; i += 128)
    ((unsigned int *)tiles)[i] = product::word(state);
#pragma unroll
  for (int i = 0; i < 128; i++)
    d[i] = 0.0f;
  asm volatile("fence.proxy.async;" ::: "memory"); // what was written is read by the other path
  __syncthreads();
  unsigned long long a = descriptor(tiles), b = descriptor(tiles + A_BYTES);
#pragma unroll 1
  for (int i = 0; i < 2 * iterations; i++)
    product::multiply(d, a, b);
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 128; i++)
    sum += d[i];
  if (sum == 1.2345678e30f)
    *sink = sum;
}

#elif __CUDA_ARCH__ >= 800

// The instruction of single warps, out of registers: K elements of 32 bits, eight products into accumulators of their
// own.
#define MMA(shape_and_types)                                                                                           \
  asm volatile("mma.sync.aligned." shape_and_types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"  \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                        \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

struct bf16_product {
  static __device__ __forceinline__ unsigned int word(unsigned int &state) { return pair_of_bf16(state); }
  static __device__ __forceinline__ void multiply(float *d, const unsigned int *a, const unsigned int *b) {
    MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
  }
};

struct fp16_product {
  static __device__ __forceinline__ unsigned int word(unsigned int &state) { return pair_of_fp16(state); }
  static __device__ __forceinline__ void multiply(float *d, const unsigned int *a, const unsigned int *b) {
    MMA("m16n8k16.row.col.f32.f16.f16.f32");
  }
};

struct tf32_product {
  static __device__ __forceinline__ unsigned int word(unsigned int &state) { return word_of_tf32(state); }
  static __device__ __forceinline__ void multiply(float *d, const unsigned int *a, const unsigned int *b) {
    MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
  }
};

template <typename product> static __device__ __forceinline__ void matrix(int iterations, float *sink) {
  float d[16][4] = {};
  unsigned int a[4][4], b[4][2], state = blockIdx.x * 128u + threadIdx.x + 1u;
  for (int i = 0; i < 4; i++) {
    for (int j = 0; j < 4; j++)
      a[i][j] = product::word(state);
    for (int j = 0; j < 2; j++)
      b[i][j] = product::word(state);
  }
  for (int i = 0; i < iterations; i++)
#pragma unroll 2
    for (int k = 0; k < 32; k++)
#pragma unroll
      for (int j = 0; j < 16; j++)
        product::multiply(d[j], a[j / 4], b[j % 4]);
  float sum = 0.0f;
  for (int j = 0; j < 16; j++)
    sum += d[j][0] + d[j][1] + d[j][2] + d[j][3];
  if (sum == 1.2345678e30f)
    *sink = sum;
}

#endif

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void __launch_bounds__(128) peak_bf16(int iterations, float *sink) {
  matrix<bf16_product>(iterations, sink);
}
extern "C" __global__ void __launch_bounds__(128) peak_fp16(int iterations, float *sink) {
  matrix<fp16_product>(iterations, sink);
}
extern "C" __global__ void __launch_bounds__(128) peak_tf32(int iterations, float *sink) {
  matrix<tf32_product>(iterations, sink);
}
#endif
