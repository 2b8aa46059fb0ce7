// Maximum over the middle dimension.
// assay: task kernelbench/1/49
// assay: twin FROM_ZERO expect wrong_value -- begins with zero instead of minus infinity
// assay: twin SHARED_PLACE expect wrong_value|wrong_class|unwritten -- blocks write to one place, others hold garbage
// A thread walks down a column with eight rows on their way, neighbours side by side, so that memory is read in order
// and once. Rows are shared out to several blocks where there are few columns; a second kernel joins their results.
// assay: let columns = ceil_div(N, 256)
// assay: let share = ceil_div(M, min(ceil_div(M, 64), ceil_div(8192, B * columns)))
// assay: let parts = ceil_div(M, share)
// assay: scratch part float[parts * B * N]
// assay: launch max_columns grid=columns,parts,B block=256 args=x, part, M, N, share
// assay: launch join grid=ceil_div(B * N, 256) block=256 args=part, y, B * N, parts
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 256, ROWS = 8 };

#ifdef FROM_ZERO
#define START 0
#else
#define START (-__int_as_float(0x7f800000)) // minus infinity
#endif

static __device__ float join_two(float a, float b) {
  return fmaxf(a, b);
}

__global__ void __launch_bounds__(THREADS)
    max_columns(const float *__restrict__ x, float *__restrict__ part, int M, int N, int share) {
  int column = (int)(blockIdx.x * THREADS + threadIdx.x), row = (int)blockIdx.y * share, stop = min(M, row + share);
  if (column >= N)
    return;
  const float *from = x + ((long long)blockIdx.z * M + row) * N + column;
  float r[ROWS];
#pragma unroll
  for (int k = 0; k < ROWS; k++)
    r[k] = START;
  for (; row + ROWS <= stop; row += ROWS, from += (long long)ROWS * N) {
    float v[ROWS];
#pragma unroll
    for (int k = 0; k < ROWS; k++)
      v[k] = __ldcs(&from[(long long)k * N]);
#pragma unroll
    for (int k = 0; k < ROWS; k++)
      r[k] = join_two(r[k], v[k]);
  }
  for (; row < stop; row++, from += N)
    r[0] = join_two(r[0], *from);
#pragma unroll
  for (int step = ROWS / 2; step > 0; step /= 2)
#pragma unroll
    for (int k = 0; k < step; k++)
      r[k] = join_two(r[k], r[k + step]);
#ifdef SHARED_PLACE
  part[(long long)blockIdx.z * N + column] = r[0];
#else
  part[((long long)blockIdx.y * gridDim.z + blockIdx.z) * N + column] = r[0];
#endif
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
  max_columns<<<dim3((unsigned int)columns, (unsigned int)parts, (unsigned int)B), THREADS, 0, stream>>>(x, part, M, N,
                                                                                                         share);
  join<<<(unsigned int)((B * N + 255) / 256), 256, 0, stream>>>(part, y, B * N, parts);
  cudaFreeAsync(part, stream);
}
#endif
