// Product of a wide matrix and a column. It reads every element of the matrix once and is limited by that.
// assay: task kernelbench/1/4
// assay: twin HALF_SUM expect low_precision|wrong_value -- sums in half precision
// assay: twin WHOLE_VECTORS expect wrong_value -- drops the last K % 4 terms
// assay: twin ONE_WARP expect wrong_value -- forgets the sums of all warps but the first
// A block takes 8 rows, so that an element of the column is loaded once for 8 of the matrix, and a part of their
// columns; a second kernel adds the parts. Rows that do not begin at multiples of 16 bytes are read float by float.
// assay: let groups = ceil_div(M, 8)
// assay: let share = round_up(max(4096, ceil_div(K, max(1, 4096 / groups))), 4)
// assay: let parts = ceil_div(K, share)
// assay: scratch part float[parts * M]
// assay: launch matvec<4> grid=groups,parts block=256 if=K % 4 == 0 args=a, b, part, M, K, share
// assay: launch matvec<1> grid=groups,parts block=256 if=K % 4 != 0 args=a, b, part, M, K, share
// assay: launch add_parts grid=ceil_div(M, 256) block=256 args=part, y, M, parts
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { ROWS = 8, THREADS = 256 };

// What a thread's sum becomes with one more term.
static __device__ float add(float sum, float a, float b) {
  sum += a * b;
#ifdef HALF_SUM
  unsigned short half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(sum));
  asm("cvt.f32.f16 %0, %1;" : "=f"(sum) : "h"(half));
#endif
  return sum;
}

static __device__ float add4(float sum, float4 a, float4 b) {
  return add(add(add(add(sum, a.x, b.x), a.y, b.y), a.z, b.z), a.w, b.w);
}

static __device__ float warp_sum(float x) {
  for (int step = 16; step > 0; step /= 2)
    x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

template <int V>
__global__ void __launch_bounds__(THREADS) matvec(const float *__restrict__ a, const float *__restrict__ b,
                                                  float *__restrict__ part, int M, int K, int share) {
  __shared__ float sums[ROWS][THREADS / 32];
  int m0 = (int)blockIdx.x * ROWS, begin = (int)blockIdx.y * share, end = min(K, begin + share);
  const float *row[ROWS];
  float sum[ROWS] = {};
#pragma unroll
  for (int r = 0; r < ROWS; r++)
    row[r] = a + (long long)min(m0 + r, M - 1) * K; // a row after the last is the last one again, and is not written
#ifdef WHOLE_VECTORS
  end = end / 4 * 4;
#endif
  for (int k = begin + (int)threadIdx.x * V; k < end; k += THREADS * V) {
    if (V == 4) {
      float4 x = *(const float4 *)&b[k], ax[ROWS];
#pragma unroll
      for (int r = 0; r < ROWS; r++)
        ax[r] = __ldcs((const float4 *)&row[r][k]);
#pragma unroll
      for (int r = 0; r < ROWS; r++)
        sum[r] = add4(sum[r], ax[r], x);
    } else {
      float x = b[k];
#pragma unroll
      for (int r = 0; r < ROWS; r++)
        sum[r] = add(sum[r], __ldcs(&row[r][k]), x);
    }
  }
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    float s = warp_sum(sum[r]);
    if (threadIdx.x % 32 == 0)
      sums[r][threadIdx.x / 32] = s;
  }
  __syncthreads();
  int r = (int)threadIdx.x;
  if (r >= ROWS || m0 + r >= M)
    return;
  float s = sums[r][0];
#ifndef ONE_WARP
  for (int w = 1; w < THREADS / 32; w++)
    s += sums[r][w];
#endif
  part[(long long)blockIdx.y * M + m0 + r] = s;
}

__global__ void add_parts(const float *__restrict__ part, float *__restrict__ y, int M, int parts) {
  int m = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (m >= M)
    return;
  float sum = 0;
  for (int p = 0; p < parts; p++)
    sum += part[(long long)p * M + m];
  y[m] = sum;
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  int M = (int)args->inputs[0].dims[0], K = (int)args->inputs[0].dims[1];
  const float *a = (const float *)args->inputs[0].data, *b = (const float *)args->inputs[1].data;
  float *y = (float *)args->outputs[0].data, *part;
  int groups = (M + ROWS - 1) / ROWS, fair = 4096 / groups > 1 ? 4096 / groups : 1, share = (K + fair - 1) / fair;
  share = ((share > 4096 ? share : 4096) + 3) / 4 * 4;
  int parts = (K + share - 1) / share;
  dim3 blocks((unsigned int)groups, (unsigned int)parts);
  cudaMallocAsync((void **)&part, (size_t)parts * (size_t)M * sizeof *part, stream);
  if (K % 4 == 0)
    matvec<4><<<blocks, THREADS, 0, stream>>>(a, b, part, M, K, share);
  else
    matvec<1><<<blocks, THREADS, 0, stream>>>(a, b, part, M, K, share);
  add_parts<<<(unsigned int)((M + 255) / 256), 256, 0, stream>>>(part, y, M, parts);
  cudaFreeAsync(part, stream);
}
#endif
