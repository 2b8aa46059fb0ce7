// Products of bf16 matrices, summed in different precisions: the examples of docs/numerics.md. Not fast: a warp makes a
// tile of 16 x 8 straight from global memory.
// assay: task contracts/1/4
// assay: twin PROMOTED expect pass -- after 32 terms their sum goes to a total in single precision
// assay: twin CUDA_CORES expect pass -- single precision without tensor cores
// assay: twin ROUNDED expect wrong_value|low_precision -- sums are rounded to bf16 after every 32 terms
// assay: twin SHORT expect wrong_value|wrong_class|unwritten -- leaves out the last term
// assay: launch matmul grid=ceil_div(N, 16),ceil_div(M, 64) block=256 args=a, b, y, M, K, N
// As it stands: tensor cores, whose accumulators are of single precision, keep the sum from the first term to the last.
#include <cuda_bf16.h>

typedef __nv_bfloat16 number;
#ifdef SHORT
#define TERMS(K) ((K)-1)
#else
#define TERMS(K) (K)
#endif

static __device__ unsigned int pair(number low, number high) {
  return (unsigned int)__bfloat16_as_ushort(low) | (unsigned int)__bfloat16_as_ushort(high) << 16;
}

static __device__ void multiply(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
               "{%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// What becomes of the sums after 32 terms.
static __device__ void after_block(float (&total)[4], float (&sum)[4]) {
#pragma unroll
  for (int i = 0; i < 4; i++) {
#if defined(PROMOTED)
    total[i] += sum[i];
    sum[i] = 0;
#elif defined(ROUNDED)
    sum[i] = __bfloat162float(__float2bfloat16_rn(sum[i]));
#endif
  }
}

__global__ void __launch_bounds__(256)
    matmul(const number *__restrict__ a, const number *__restrict__ b, number *__restrict__ y, int M, int K, int N) {
  int warp = (int)threadIdx.x / 32, row = (int)threadIdx.x % 32 / 4, term = (int)threadIdx.x % 4 * 2;
  int m0 = (int)blockIdx.y * 64 + warp / 2 * 16, n0 = (int)blockIdx.x * 16 + warp % 2 * 8;
  const number zero = __float2bfloat16_rn(0);
  float total[4] = {}, sum[4] = {};
#ifdef CUDA_CORES
  for (int i = 0; i < 4; i++) {
    int m = m0 + row + i / 2 * 8, n = n0 + term + i % 2;
    for (int k = 0; k < TERMS(K) && m < M && n < N; k++)
      sum[i] = __fmaf_rn(__bfloat162float(a[(long long)m * K + k]), __bfloat162float(b[(long long)k * N + n]), sum[i]);
  }
#else
  for (int k0 = 0; k0 < K; k0 += 16) {
    unsigned int as[4], bs[2];
#pragma unroll
    for (int r = 0; r < 4; r++) {
      int m = m0 + row + r % 2 * 8, k = k0 + r / 2 * 8 + term;
      const number *from = a + (long long)m * K + k;
      as[r] = pair(m < M && k < TERMS(K) ? from[0] : zero, m < M && k + 1 < TERMS(K) ? from[1] : zero);
    }
#pragma unroll
    for (int r = 0; r < 2; r++) {
      int n = n0 + row, k = k0 + r * 8 + term;
      const number *from = b + (long long)k * N + n;
      bs[r] = pair(n < N && k < TERMS(K) ? from[0] : zero, n < N && k + 1 < TERMS(K) ? from[N] : zero);
    }
    multiply(sum, as, bs);
    if ((k0 + 16) % 32 == 0)
      after_block(total, sum);
  }
#endif
#pragma unroll
  for (int i = 0; i < 4; i++) {
    int m = m0 + row + i / 2 * 8, n = n0 + term + i % 2;
    if (m < M && n < N)
      y[(long long)m * N + n] = __float2bfloat16_rn(total[i] + sum[i]);
  }
}
