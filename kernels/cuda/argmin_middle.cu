// Index of the first minimum over the middle dimension.
// assay: task kernelbench/1/52
// assay: twin INT32 expect unwritten|wrong_value -- stores 32-bit indices into the 64-bit output
// assay: twin INDEX7 expect wrong_value -- counts rows in 7 bits
// Rows need not begin at multiples of 16 bytes, but the fourth row after one begins like it. A thread loads vectors as
// they lie in memory, one below the other, and keeps a minimum of each of the four elements in each of four rows; which
// columns these are depends on the row. Eight vectors are on their way at a time. Rows are shared out to several blocks
// where there are few columns; a second kernel joins the results.
// assay: let vectors = ceil_div(N + 3, 4)
// assay: let columns = ceil_div(vectors, 384)
// assay: let threads = round_up(ceil_div(vectors, columns), 32)
// assay: let share = round_up(ceil_div(M, min(ceil_div(M, 64), ceil_div(1536, B * columns))), 4)
// assay: let parts = ceil_div(M, share)
// assay: scratch part float[4 * parts * B * N]
// assay: scratch where int[4 * parts * B * N]
// assay: launch argmin_columns grid=columns,parts,B block=threads args=x, part, where, M, N, share
// assay: launch join grid=ceil_div(B * N, 256) block=256 args=part, where, y, M, N, B * N, share
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { ROWS = 8 };

// Worse than any number, or as bad.
#define WORST (__int_as_float(0x7f800000))

// Whether v comes before the best so far, of the rows above it.
static __device__ bool better(float v, float best) {
  return v < best;
}

// The vector that begins at the element `at`; elements that do not exist are WORST.
static __device__ float4 load(const float *x, long long at, long long count) {
  if (at + 4 <= count)
    return __ldcs((const float4 *)(x + at));
  float v[4];
#pragma unroll
  for (int j = 0; j < 4; j++)
    v[j] = at + j < count ? x[at + j] : WORST;
  return make_float4(v[0], v[1], v[2], v[3]);
}

__global__ void __launch_bounds__(384, 2) argmin_columns(const float *__restrict__ x, float *__restrict__ part,
                                                         int *__restrict__ where, int M, int N, int share) {
  const int vector = (int)(blockIdx.x * blockDim.x + threadIdx.x), first = (int)blockIdx.y * share;
  const int stop = min(M, first + share);
  const long long begin = ((long long)blockIdx.z * M + first) * N, count = (long long)gridDim.z * M * N;
  const long long step = 4ll * N; // after which rows begin alike
  long long from[4];              // the vectors of the next four rows
  float best[4][4];
  int at[4][4];
#pragma unroll
  for (int k = 0; k < 4; k++) {
    from[k] = begin + (long long)k * N;
    from[k] += 4ll * vector - (from[k] & 3);
#pragma unroll
    for (int j = 0; j < 4; j++)
      best[k][j] = WORST, at[k][j] = first + k;
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
    for (int k = 0; k < 4; k++)
      from[k] += 2 * step;
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
      const float four[4] = {v[k].x, v[k].y, v[k].z, v[k].w};
#pragma unroll
      for (int j = 0; j < 4; j++)
        if (better(four[j], best[k % 4][j]))
          best[k % 4][j] = four[j], at[k % 4][j] = row + k;
    }
  }
#pragma unroll
  for (int k = 0; k < 4; k++)
#pragma unroll
    for (int j = 0; j < 4; j++) {
      int column = 4 * vector + j - (int)((begin + (long long)k * N) & 3);
      long long to = (((long long)blockIdx.y * 4 + k) * gridDim.z + blockIdx.z) * N + column;
      if (column >= 0 && column < N)
        part[to] = best[k][j], where[to] = at[k][j];
    }
}

__global__ void join(const float *__restrict__ part, const int *__restrict__ where, long long *__restrict__ y, int M,
                     int N, int count, int share) {
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count)
    return;
  float best = part[i];
  int at = where[i];
  for (int row = 0, p = 0; row < M; row += share, p += 4)
#pragma unroll
    for (int k = 0; k < 4; k++)
      if (row + k < M) {
        float v = part[(long long)(p + k) * count + i];
        int other = where[(long long)(p + k) * count + i];
        if (better(v, best) || (!better(best, v) && other < at))
          best = v, at = other;
      }
#if defined(INT32)
  ((int *)y)[i] = at;
#elif defined(INDEX7)
  y[i] = at & 127;
#else
  y[i] = at;
#endif
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  int B = (int)args->inputs[0].dims[0], M = (int)args->inputs[0].dims[1], N = (int)args->inputs[0].dims[2];
  int vectors = (N + 6) / 4, columns = (vectors + 383) / 384,
      threads = ((vectors + columns - 1) / columns + 31) / 32 * 32;
  int most = (M + 63) / 64, fair = (1536 + B * columns - 1) / (B * columns), wanted = most < fair ? most : fair;
  int share = ((M + wanted - 1) / wanted + 3) / 4 * 4, parts = (M + share - 1) / share;
  const float *x = (const float *)args->inputs[0].data;
  long long *y = (long long *)args->outputs[0].data;
  float *part;
  int *where;
  cudaMallocAsync((void **)&part, 4 * (size_t)parts * (size_t)(B * N) * sizeof *part, stream);
  cudaMallocAsync((void **)&where, 4 * (size_t)parts * (size_t)(B * N) * sizeof *where, stream);
  argmin_columns<<<dim3((unsigned int)columns, (unsigned int)parts, (unsigned int)B), (unsigned int)threads, 0,
                   stream>>>(x, part, where, M, N, share);
  join<<<(unsigned int)((B * N + 255) / 256), 256, 0, stream>>>(part, where, y, M, N, B * N, share);
  cudaFreeAsync(part, stream);
  cudaFreeAsync(where, stream);
}
#endif
