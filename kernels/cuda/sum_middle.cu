// Sum over the middle dimension.
// assay: task kernelbench/1/47
// assay: twin HALF_SUM expect low_precision|wrong_value -- sums in half precision
// assay: twin ROUND_ROWS expect wrong_value|unwritten -- drops the rows behind the last eight of a block
// A thread walks down a column with eight rows on their way, neighbours side by side, so that memory is read in order
// and once. Rows are shared out to several blocks where there are few columns; a second kernel joins their results.
// assay: let columns = ceil_div(N, 256)
// assay: let share = ceil_div(M, min(ceil_div(M, 64), ceil_div(8192, B * columns)))
// assay: let parts = ceil_div(M, share)
// assay: scratch part float[parts * B * N]
// assay: launch sum_columns grid=columns,parts,B block=256 args=x, part, M, N, share
// assay: launch join grid=ceil_div(B * N, 256) block=256 args=part, y, B * N, parts
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 256, ROWS = 8 };

static __device__ float join_two(float a, float b) {
  float sum = a + b;
#ifdef HALF_SUM
  unsigned short half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(sum));
  asm("cvt.f32.f16 %0, %1;" : "=f"(sum) : "h"(half));
#endif
  return sum;
}

__global__ void __launch_bounds__(THREADS)
    sum_columns(const float *__restrict__ x, float *__restrict__ part, int M, int N, int share) {
  int column = (int)(blockIdx.x * THREADS + threadIdx.x), row = (int)blockIdx.y * share, stop = min(M, row + share);
  if (column >= N)
    return;
  const float *from = x + ((long long)blockIdx.z * M + row) * N + column;
  float r[ROWS];
#pragma unroll
  for (int k = 0; k < ROWS; k++)
    r[k] = 0;
  for (; row + ROWS <= stop; row += ROWS, from += (long long)ROWS * N) {
    float v[ROWS];
#pragma unroll
    for (int k = 0; k < ROWS; k++)
      v[k] = __ldcs(&from[(long long)k * N]);
#pragma unroll
    for (int k = 0; k < ROWS; k++)
      r[k] = join_two(r[k], v[k]);
  }
#ifdef ROUND_ROWS
  stop = row;
#endif
  for (; row < stop; row++, from += N)
    r[0] = join_two(r[0], *from);
#pragma unroll
  for (int step = ROWS / 2; step > 0; step /= 2)
#pragma unroll
    for (int k = 0; k < step; k++)
      r[k] = join_two(r[k], r[k + step]);
  part[((long long)blockIdx.y * gridDim.z + blockIdx.z) * N + column] = r[0];
}

__global__ void join(const float *__restrict__ part, float *__restrict__ y, int count, int parts) {
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count)
    return;
  float r = part[i];
  for (int p = 1; p < parts; p++)
    r = join_two(r, part[(long long)p * count + i]);
  y[i] = r;
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  int B = (int)args->inputs[0].dims[0], M = (int)args->inputs[0].dims[1], N = (int)args->inputs[0].dims[2];
  int columns = (N + 255) / 256, most = (M + 63) / 64, fair = (8192 + B * columns - 1) / (B * columns);
  int share = (M + (most < fair ? most : fair) - 1) / (most < fair ? most : fair), parts = (M + share - 1) / share;
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data, *part;
  cudaMallocAsync((void **)&part, (size_t)parts * (size_t)(B * N) * sizeof *part, stream);
  sum_columns<<<dim3((unsigned int)columns, (unsigned int)parts, (unsigned int)B), THREADS, 0, stream>>>(x, part, M, N,
                                                                                                         share);
  join<<<(unsigned int)((B * N + 255) / 256), 256, 0, stream>>>(part, y, B * N, parts);
  cudaFreeAsync(part, stream);
}
#endif
