// Sums over the middle dimension in different precisions: the examples of docs/numerics.md. One sum a thread.
// assay: task kernelbench/1/47
// assay: twin PAIRWISE expect pass -- eight sums that are added at the end
// assay: twin TF32_INPUTS expect low_precision|wrong_value -- inputs are rounded to TF32
// assay: twin BF16_INPUTS expect low_precision|wrong_value|wrong_class -- inputs are rounded to bf16
// assay: twin HALF_INPUTS expect low_precision|wrong_value|wrong_class -- inputs are rounded to fp16
// assay: twin HALF_SUM expect low_precision|wrong_value|wrong_class -- the sum is kept in fp16
// assay: twin ROUNDED_17 expect low_precision|wrong_value -- the sum is kept to 17 bits
// assay: launch sum grid=ceil_div(N, 128),B block=128 args=x, y, M, N
// As it stands: one sum from the first term to the last.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

static __device__ float input(float x) {
#if defined(BF16_INPUTS)
  return __bfloat162float(__float2bfloat16_rn(x));
#elif defined(HALF_INPUTS)
  return __half2float(__float2half_rn(x));
#elif defined(TF32_INPUTS)
  unsigned int r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return __uint_as_float(r);
#else
  return x;
#endif
}

static __device__ float add(float a, float b) {
  float s = a + b;
#if defined(HALF_SUM)
  s = __half2float(__float2half_rn(s));
#elif defined(ROUNDED_17)
  s = __uint_as_float((__float_as_uint(s) + 0x40) & 0xffffff80u);
#endif
  return s;
}

__global__ void sum(const float *__restrict__ x, float *__restrict__ y, int M, int N) {
  int n = (int)(blockIdx.x * 128 + threadIdx.x);
  if (n >= N)
    return;
  x += (long long)blockIdx.y * M * N + n;
#ifdef PAIRWISE
  float part[8] = {};
  for (int m = 0; m < M; m += 8)
#pragma unroll
    for (int i = 0; i < 8; i++)
      part[i] = m + i < M ? add(part[i], input(x[(long long)(m + i) * N])) : part[i];
  float s = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
#else
  float s = 0;
  for (int m = 0; m < M; m++)
    s = add(s, input(x[(long long)m * N]));
#endif
  y[(long long)blockIdx.y * N + n] = s;
}
