// SPDX-License-Identifier: Apache-2.0
// Sums of products as the tensor cores make them, for bench/gpu/tensor_core_bits.py, which makes up the inputs and
// draws the conclusions.
//
//   tensor_core_bits KIND K CASES < inputs > sums
//
// Each case is K factors a, K factors b and a start value c, as float32; its sum is c + a.b, one float32. K is a
// multiple of what an instruction multiplies (16 terms, 8 of TF32); c goes in as the accumulator and the sum from one
// instruction to the next stays there. Factors are numbers of the kind's format, those of TF32 go to the hardware as
// they are.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

enum kind { MMA_TF32, MMA_FP16, MMA_BF16, MMA_FP16_FP16, WGMMA_TF32, WGMMA_FP16, WGMMA_BF16, WGMMA_FP16_FP16, KINDS };
static const char *const names[KINDS] = {"mma-tf32",   "mma-fp16",   "mma-bf16",   "mma-fp16-fp16",
                                         "wgmma-tf32", "wgmma-fp16", "wgmma-bf16", "wgmma-fp16-fp16"};

// Two neighbouring factors as one register of the kind's format.
template <int KIND> static __device__ unsigned int pack(const float *x) {
  if (KIND == MMA_BF16 || KIND == WGMMA_BF16) {
    __nv_bfloat162 v = __floats2bfloat162_rn(x[0], x[1]);
    return *reinterpret_cast<unsigned int *>(&v);
  }
  __half2 v = __floats2half2_rn(x[0], x[1]);
  return *reinterpret_cast<unsigned int *>(&v);
}

// All rows of A are the case's a, all columns of B its b, so that every element of the result is the sum; which thread
// holds which row does not matter then, only which terms it holds.
template <int KIND> static __device__ void load_a(const float *a, unsigned int (&r)[4]) {
  int t = threadIdx.x % 4;
  if (KIND == MMA_TF32 || KIND == WGMMA_TF32) {
    r[0] = r[1] = __float_as_uint(a[t]);
    r[2] = r[3] = __float_as_uint(a[t + 4]);
  } else {
    r[0] = r[1] = pack<KIND>(a + 2 * t);
    r[2] = r[3] = pack<KIND>(a + 2 * t + 8);
  }
}

template <int KIND> static __device__ void multiply_mma(float (&d)[4], const float *a, const float *b) {
  unsigned int x[4], y[2];
  int t = threadIdx.x % 4;
  load_a<KIND>(a, x);
  if (KIND == MMA_TF32) {
    y[0] = __float_as_uint(b[t]);
    y[1] = __float_as_uint(b[t + 4]);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    return;
  }
  y[0] = pack<KIND>(b + 2 * t);
  y[1] = pack<KIND>(b + 2 * t + 8);
  if (KIND == MMA_FP16)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  if (KIND == MMA_BF16)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  if (KIND == MMA_FP16_FP16) {
    __half2 h = __float2half2_rn(d[0]);
    unsigned int e[2] = {*reinterpret_cast<unsigned int *>(&h), *reinterpret_cast<unsigned int *>(&h)};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                 : "+r"(e[0]), "+r"(e[1])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    d[0] = __low2float(*reinterpret_cast<__half2 *>(&e[0]));
  }
}

// B as 8 columns of 32 bytes: two tiles of 8 x 16 bytes, one after the other, not swizzled.
template <int KIND> static __device__ unsigned long long store_b(const float *b, unsigned char *tiles) {
  __syncthreads();
  for (int i = threadIdx.x; i < 64; i += blockDim.x) { // one register each
    int tile = i / 32, word = i % 4;
    unsigned int value = KIND == WGMMA_TF32 ? __float_as_uint(b[tile * 4 + word]) : pack<KIND>(b + tile * 8 + word * 2);
    reinterpret_cast<unsigned int *>(tiles)[i] = value;
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  unsigned long long at = (unsigned int)__cvta_generic_to_shared(tiles);
  return (at & 0x3ffff) >> 4 | (unsigned long long)(128 >> 4) << 16 | (unsigned long long)(128 >> 4) << 32;
}

template <int KIND>
static __device__ void multiply_wgmma(float (&d)[4], const float *a, const float *b, unsigned char *tiles) {
  unsigned int x[4];
  load_a<KIND>(a, x);
  unsigned long long y = store_b<KIND>(b, tiles);
  __half2 h = __float2half2_rn(d[0]);
  unsigned int e[2] = {*reinterpret_cast<unsigned int *>(&h), *reinterpret_cast<unsigned int *>(&h)};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  if (KIND == WGMMA_TF32)
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, %8, 1, 1, 1;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(y));
  if (KIND == WGMMA_FP16)
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, {%4,%5,%6,%7}, %8, 1, 1, 1, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(y));
  if (KIND == WGMMA_BF16)
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0,%1,%2,%3}, {%4,%5,%6,%7}, %8, 1, 1, 1, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(y));
  if (KIND == WGMMA_FP16_FP16)
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, %6, 1, 1, 1, 0;"
                 : "+r"(e[0]), "+r"(e[1])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(y));
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
  for (int i = 0; i < 4; i++)
    asm volatile("" : "+f"(d[i])::"memory");
#pragma unroll
  for (int i = 0; i < 2; i++)
    asm volatile("" : "+r"(e[i])::"memory");
  if (KIND == WGMMA_FP16_FP16)
    d[0] = __low2float(*reinterpret_cast<__half2 *>(&e[0]));
}

template <int KIND> __global__ void __launch_bounds__(128) sums(const float *cases, float *out, int k) {
  __shared__ alignas(1024) unsigned char tiles[256];
  const int step = KIND == MMA_TF32 || KIND == WGMMA_TF32 ? 8 : 16;
  const float *a = cases + blockIdx.x * (2ll * k + 1), *b = a + k;
  float c = b[k], d[4] = {c, c, c, c};
  for (int i = 0; i < k; i += step) {
    if (KIND < WGMMA_TF32)
      multiply_mma<KIND>(d, a + i, b + i);
    else
      multiply_wgmma<KIND>(d, a + i, b + i, tiles);
  }
  if (threadIdx.x == 0)
    out[blockIdx.x] = d[0];
}

typedef void kernel(const float *, float *, int);
static kernel *const kernels[KINDS] = {sums<MMA_TF32>,   sums<MMA_FP16>,   sums<MMA_BF16>,   sums<MMA_FP16_FP16>,
                                       sums<WGMMA_TF32>, sums<WGMMA_FP16>, sums<WGMMA_BF16>, sums<WGMMA_FP16_FP16>};

static void need(cudaError_t e) {
  if (e == cudaSuccess)
    return;
  fprintf(stderr, "tensor_core_bits: %s\n", cudaGetErrorString(e));
  exit(1);
}

int main(int argc, char **argv) {
  int kind = 0;
  while (argc == 4 && kind < KINDS && strcmp(argv[1], names[kind]) != 0)
    kind++;
  int k = argc == 4 ? atoi(argv[2]) : 0, cases = argc == 4 ? atoi(argv[3]) : 0;
  if (argc != 4 || kind == KINDS || k <= 0 || k % (kind % 4 == MMA_TF32 ? 8 : 16) != 0 || cases <= 0) {
    fprintf(stderr, "usage: tensor_core_bits KIND K CASES < inputs > sums\n");
    return 2;
  }
  std::vector<float> in((2ull * k + 1) * cases), out(cases);
  if (fread(in.data(), 4, in.size(), stdin) != in.size()) {
    fprintf(stderr, "tensor_core_bits: %zu numbers expected\n", in.size());
    return 2;
  }
  float *from, *to;
  need(cudaMalloc(&from, in.size() * 4));
  need(cudaMalloc(&to, out.size() * 4));
  need(cudaMemcpy(from, in.data(), in.size() * 4, cudaMemcpyHostToDevice));
  void *arguments[] = {&from, &to, &k};
  need(cudaLaunchKernel(kernels[kind], dim3(cases), dim3(kind < WGMMA_TF32 ? 32 : 128), arguments, 0, 0));
  need(cudaGetLastError());
  need(cudaMemcpy(out.data(), to, out.size() * 4, cudaMemcpyDeviceToHost));
  return fwrite(out.data(), 4, out.size(), stdout) == out.size() ? 0 : 1;
}
