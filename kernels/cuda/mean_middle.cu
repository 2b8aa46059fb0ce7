// Mean over the middle dimension.
// assay: task kernelbench/1/48
// assay: twin OTHER_COUNT expect wrong_value -- divides by how many means there are
// assay: twin FIRST_PART expect wrong_value -- forgets what all blocks but the first have of a column
// Rows need not begin at multiples of 16 bytes, but the fourth row after one begins like it. A thread loads vectors as
// they lie in memory, one below the other, and keeps a result for each of the four elements in each of four rows; which
// columns these are depends on the row. Eight vectors are on their way at a time. Rows are shared out to several blocks
// where there are few columns; a second kernel joins the results.
// assay: let vectors = ceil_div(N + 3, 4)
// assay: let columns = ceil_div(vectors, 384)
// assay: let threads = round_up(ceil_div(vectors, columns), 32)
// assay: let share = round_up(ceil_div(M, min(ceil_div(M, 64), ceil_div(1536, B * columns))), 4)
// assay: let parts = ceil_div(M, share)
// assay: scratch part float[4 * parts * B * N]
// assay: launch sum_columns grid=columns,parts,B block=threads args=x, part, M, N, share
// assay: launch join grid=ceil_div(B * N, 256) block=256 args=part, y, B * N, 4 * parts, int(M)
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { ROWS = 8 };

#define START 0

static __device__ float join_two(float a, float b) {
  return a + b;
}

// The vector that begins at the element `at`; elements that do not exist count for nothing.
static __device__ float4 load(const float *x, long long at, long long count) {
  if (at + 4 <= count)
    return __ldcs((const float4 *)(x + at));
  float v[4];
#pragma unroll
  for (int j = 0; j < 4; j++)
    v[j] = at + j < count ? x[at + j] : START;
  return make_float4(v[0], v[1], v[2], v[3]);
}

static __device__ void join_vector(float (&r)[4], float4 a, float4 b) {
  r[0] = join_two(r[0], join_two(a.x, b.x));
  r[1] = join_two(r[1], join_two(a.y, b.y));
  r[2] = join_two(r[2], join_two(a.z, b.z));
  r[3] = join_two(r[3], join_two(a.w, b.w));
}

__global__ void __launch_bounds__(384, 2)
    sum_columns(const float *__restrict__ x, float *__restrict__ part, int M, int N, int share) {
  const int vector = (int)(blockIdx.x * blockDim.x + threadIdx.x), first = (int)blockIdx.y * share;
  const int stop = min(M, first + share);
  const long long begin = ((long long)blockIdx.z * M + first) * N, count = (long long)gridDim.z * M * N;
  const long long step = 4ll * N; // after which rows begin alike
  long long from[4];              // the vectors of the next four rows
  float r[4][4];
#pragma unroll
  for (int k = 0; k < 4; k++) {
    from[k] = begin + (long long)k * N;
    from[k] += 4ll * vector - (from[k] & 3);
#pragma unroll
    for (int j = 0; j < 4; j++)
      r[k][j] = START;
  }
  for (int row = first; row < stop; row += ROWS) {
    float4 v[ROWS];
    if (row + ROWS <= stop && from[3] + step + 4 <= count) {
#pragma unroll
      for (int k = 0; k < ROWS; k++)
        v[k] = __ldcs((const float4 *)(x + from[k % 4] + k / 4 * step));
    } else {
#pragma unroll
      for (int k = 0; k < ROWS; k++)
        v[k] = load(x, from[k % 4] + k / 4 * step, row + k < stop ? count : 0);
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
      from[k] += 2 * step;
      join_vector(r[k], v[k], v[k + 4]);
    }
  }
#pragma unroll
  for (int k = 0; k < 4; k++)
#pragma unroll
    for (int j = 0; j < 4; j++) {
      int column = 4 * vector + j - (int)((begin + (long long)k * N) & 3);
      long long to = (((long long)blockIdx.y * 4 + k) * gridDim.z + blockIdx.z) * N + column;
      if (column >= 0 && column < N)
        part[to] = r[k][j];
    }
}

__global__ void join(const float *__restrict__ part, float *__restrict__ y, int count, int parts, int divisor) {
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count)
    return;
  float r = part[i];
#ifdef FIRST_PART
  parts = 4;
#endif
  for (int p = 1; p < parts; p++)
    r = join_two(r, part[(long long)p * count + i]);
#ifdef OTHER_COUNT
  divisor = count;
#endif
  y[i] = r / (float)divisor;
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  int B = (int)args->inputs[0].dims[0], M = (int)args->inputs[0].dims[1], N = (int)args->inputs[0].dims[2];
  int vectors = (N + 6) / 4, columns = (vectors + 383) / 384,
      threads = ((vectors + columns - 1) / columns + 31) / 32 * 32;
  int most = (M + 63) / 64, fair = (1536 + B * columns - 1) / (B * columns), wanted = most < fair ? most : fair;
  int share = ((M + wanted - 1) / wanted + 3) / 4 * 4, parts = (M + share - 1) / share;
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data, *part;
  cudaMallocAsync((void **)&part, 4 * (size_t)parts * (size_t)(B * N) * sizeof *part, stream);
  sum_columns<<<dim3((unsigned int)columns, (unsigned int)parts, (unsigned int)B), (unsigned int)threads, 0, stream>>>(
      x, part, M, N, share);
  join<<<(unsigned int)((B * N + 255) / 256), 256, 0, stream>>>(part, y, B * N, 4 * parts, M);
  cudaFreeAsync(part, stream);
}
#endif
