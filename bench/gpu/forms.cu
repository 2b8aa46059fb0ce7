// SPDX-License-Identifier: Apache-2.0
// Forms of kernels/fusedops/bf16_matmul.cu, fp8_matmul.cu, bf16_gemm_gelu.cu and bf16_attention.cu, those that ship and
// others, as a library for forms.py: KIND is MATMUL, FP8, GELU or ATTENTION.
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#if defined(MATMUL)
#include "../../kernels/fusedops/bf16_matmul.cu"
#define KERNEL matmul
#elif defined(FP8)
#include "../../kernels/fusedops/fp8_matmul.cu"
#elif defined(GELU)
#include "../../kernels/fusedops/bf16_gemm_gelu.cu"
#define KERNEL gemm_gelu
#else
#include "../../kernels/fusedops/bf16_attention.cu"
#endif

// cuTensorMapEncodeTiled: uint8 is 0, bf16 9, swizzle of 128 bytes 3, promotion to 256 bytes 3. The kernels have a
// CUtensorMap of their own, so that cuda.h cannot be here.
typedef int encode_function(void *map, int type, unsigned rank, void *data, const unsigned long long *dims,
                            const unsigned long long *strides, const unsigned *box, const unsigned *steps,
                            int interleave, int swizzle, int promotion, int fill);

// A map of `heads` matrices of dense rows, in boxes of 128 bytes of columns.
static CUtensorMap encode_bytes(void *data, int heads, int rows, int columns, int box_rows, int bytes) {
  static encode_function *function;
  cudaDriverEntryPointQueryResult found;
  if (!function)
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)&function, 12000, cudaEnableDefault, &found);
  unsigned long long row = (unsigned long long)bytes * columns,
                     dims[] = {(unsigned long long)columns, (unsigned long long)rows, (unsigned long long)heads};
  unsigned long long strides[] = {row, row * rows};
  unsigned box[] = {128u / bytes, (unsigned)box_rows, 1}, steps[] = {1, 1, 1};
  CUtensorMap map;
  int error = function(&map, bytes == 1 ? 0 : 9, heads > 0 ? 3 : 2, data, dims, strides, box, steps, 0, 3, 3, 0);
  if (error)
    printf("cuTensorMapEncodeTiled: %d\n", error);
  return map;
}

static CUtensorMap encode(void *data, int heads, int rows, int columns, int box_rows) {
  return encode_bytes(data, heads, rows, columns, box_rows, 2);
}

struct request {
  void *in[3], *out;
  int dims[6]; // M, K, N; or batch, heads, heads of keys, queries, keys, width
  cudaStream_t stream;
  int prepare; // make maps for these buffers, and launch nothing
};

static int launch(cudaLaunchConfig_t *config, int blocks, int threads, int shared, int cluster, const void *kernel,
                  void **args) {
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {(unsigned)cluster, 1, 1};
  config->gridDim = dim3(blocks);
  config->blockDim = dim3(threads);
  config->dynamicSmemBytes = shared;
  config->attrs = &attribute;
  config->numAttrs = cluster > 1;
  return cudaLaunchKernelExC(config, kernel, args);
}

#ifdef ATTENTION
template <int WIDTH, int GROUPS, int KEYS, int STAGES, int CAUSAL> static int go(const request *r) {
  typedef form<WIDTH, GROUPS, KEYS, STAGES, CAUSAL> F;
  static CUtensorMap maps[4];
  int batch = r->dims[0], heads = r->dims[1], shared = r->dims[2], queries = r->dims[3], keys = r->dims[4],
      width = r->dims[5];
  if (width > WIDTH || width <= WIDTH - 64)
    return -1;
  const void *kernel = (const void *)attention<WIDTH, GROUPS, KEYS, STAGES, CAUSAL>;
  if (r->prepare) {
    maps[0] = encode(r->in[0], batch * heads, queries, width, 64);
    maps[1] = encode(r->in[1], batch * shared, keys, width, KEYS);
    maps[2] = encode(r->in[2], batch * shared, keys, width, KEYS);
    maps[3] = encode(r->out, batch * heads, queries, width, 64);
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, F::SHARED);
  }
  int all = batch * heads, parts = (queries + 64 * GROUPS - 1) / (64 * GROUPS) * all;
  float scale = 1 / sqrtf((float)width);
  void *args[] = {maps, maps + 1, maps + 2, maps + 3, &heads, &shared, &queries, &keys, &all, &scale};
  cudaLaunchConfig_t config = {};
  config.stream = r->stream;
  return launch(&config, parts < 132 ? parts : 132, 128 + 128 * GROUPS, F::SHARED, 1, kernel, args);
}
#define FORMS(X) X(128, 2, 128, 2, 0) X(128, 2, 128, 2, 1) X(64, 3, 128, 3, 0) X(64, 3, 128, 3, 1) X(64, 2, 128, 4, 1)
#elif defined(FP8)
template <int BM, int S> struct kernel_of {
  enum { TURNED = 0, STAGES = S };
  static const void *get() { return (const void *)matmul<BM, S>; }
};
template <int S> struct kernel_of_turned {
  enum { TURNED = 1, STAGES = S };
};
template <> struct kernel_of<160, -5> : kernel_of_turned<5> {
  static const void *get() { return (const void *)matmul_turned<160, 5>; }
};
template <> struct kernel_of<192, -4> : kernel_of_turned<4> {
  static const void *get() { return (const void *)matmul_turned<192, 4>; }
};

// S: the stages; below zero b is turned beforehand, which is part of the time.
template <int BM, int, int, int, int S> static int go(const request *r) {
  enum { TURNED = kernel_of<BM, S>::TURNED, STAGES = kernel_of<BM, S>::STAGES };
  static CUtensorMap maps[3];
  static unsigned char *turned;
  int M = r->dims[0], K = r->dims[1], N = r->dims[2], tiles = (M + BM - 1) / BM * ((N + ACROSS - 1) / ACROSS);
  const void *kernel = kernel_of<BM, S>::get();
  if (r->prepare) {
    cudaFree(turned);
    turned = NULL;
    if (TURNED)
      cudaMalloc((void **)&turned, (size_t)K * N);
    maps[0] = encode_bytes(r->in[0], 0, M, K, BM, 1);
    maps[1] = TURNED ? encode_bytes(turned, 0, N, K, ACROSS, 1) : encode_bytes(r->in[1], 0, K, N, BK, 1);
    maps[2] = encode(r->out, 0, M, N, 32);
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, form<BM, STAGES>::SHARED);
  }
  if (TURNED)
    turn<<<dim3((N + 127) / 128, (K + 127) / 128), 256, 0, r->stream>>>((const unsigned char *)r->in[1], turned, K, N);
  void *args[] = {maps, maps + 1, maps + 2, &M, &K, &N};
  cudaLaunchConfig_t config = {};
  config.stream = r->stream;
  return launch(&config, tiles < 132 ? tiles : 132, 128 + 128 * GROUPS, form<BM, STAGES>::SHARED, 1, kernel, args);
}
#define FORMS(X)                                                                                                       \
  X(64, 2, 1, 1, 8)                                                                                                    \
  X(96, 2, 1, 1, 6) X(128, 2, 1, 1, 6) X(160, 2, 1, 1, 5) X(160, 2, 1, 1, -5) X(192, 2, 1, 1, -4)
#else
template <int BM, int GROUPS, int SHARE, int SPLIT, int STAGES> static int go(const request *r) {
  typedef form<BM, GROUPS, SHARE, SPLIT, STAGES> F;
  static CUtensorMap maps[3];
  int M = r->dims[0], K = r->dims[1], N = r->dims[2];
  const void *kernel = (const void *)KERNEL<BM, GROUPS, SHARE, SPLIT, STAGES>;
  if (r->prepare) {
    maps[0] = encode(r->in[0], 0, M, K, BM / SHARE);
    maps[1] = encode(r->in[1], 0, K, N, 64);
    maps[2] = encode(r->out, 0, M, N, F::BOX);
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, F::SHARED);
  }
  int tiles = (M + BM - 1) / BM * ((N + F::ACROSS - 1) / F::ACROSS), most = 132 / F::CLUSTER;
  int clusters = SPLIT > 1 || tiles < most ? tiles : most;
  const void *bias = r->in[2];
  cudaLaunchConfig_t config = {};
  config.stream = r->stream;
#ifdef GELU
  void *args[] = {maps, maps + 1, maps + 2, &bias, &M, &K, &N};
#else
  void *args[] = {maps, maps + 1, maps + 2, &M, &K, &N};
  (void)bias;
#endif
  return launch(&config, clusters * F::CLUSTER, F::THREADS, F::SHARED, F::CLUSTER, kernel, args);
}
#ifdef GELU
#define FORMS(X)                                                                                                       \
  X(64, 1, 1, 1, 8)                                                                                                    \
  X(64, 1, 1, 2, 8)                                                                                                    \
  X(96, 2, 1, 1, 6) X(128, 2, 1, 1, 6) X(192, 2, 1, 1, 4) X(256, 2, 1, 1, 4) X(128, 1, 1, 2, 8) X(128, 1, 1, 4, 8)
#else
#define FORMS(X)                                                                                                       \
  X(64, 1, 1, 1, 8)                                                                                                    \
  X(64, 2, 1, 1, 8)                                                                                                    \
  X(64, 2, 1, 2, 8)                                                                                                    \
  X(128, 2, 1, 2, 6)                                                                                                   \
  X(128, 2, 2, 1, 6)                                                                                                   \
  X(160, 2, 2, 1, 5)                                                                                                   \
  X(96, 2, 1, 1, 6)                                                                                                    \
  X(128, 2, 1, 1, 6)                                                                                                   \
  X(144, 2, 1, 1, 5)                                                                                                   \
  X(160, 2, 1, 1, 5)                                                                                                   \
  X(176, 2, 1, 1, 5)                                                                                                   \
  X(208, 2, 1, 1, 4)                                                                                                   \
  X(224, 2, 1, 1, 4) X(240, 2, 1, 1, 4) X(176, 2, 2, 1, 4) X(208, 2, 2, 1, 4) X(224, 2, 2, 1, 4) X(240, 2, 2, 1, 4)
#endif
#endif

// Each multiprocessor's cycles and the time in ns: two stamps tell the clock that it ran at between them (clocks.py).
__global__ void read_clocks(unsigned long long *out) {
  unsigned sm;
  unsigned long long cycles, ns;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  if (threadIdx.x == 0) {
    out[2 * sm] = cycles;
    out[2 * sm + 1] = ns;
  }
}

extern "C" int stamp_clocks(unsigned long long *out, cudaStream_t stream) {
  read_clocks<<<132, 1024, 0, stream>>>(out);
  return cudaGetLastError();
}

static const struct {
  const char *name;
  int (*go)(const request *);
} all_forms[] = {
#define X(a, b, c, d, e) {#a ", " #b ", " #c ", " #d ", " #e, go<a, b, c, d, e>},
    FORMS(X)};

extern "C" int count_forms() {
  return (int)(sizeof all_forms / sizeof *all_forms);
}

extern "C" const char *name_of_form(int i) {
  return all_forms[i].name;
}

// 0, or -1 where the form does not do this shape, or an error of CUDA's.
extern "C" int run_form(int i, const request *r) {
  return all_forms[i].go(r);
}
