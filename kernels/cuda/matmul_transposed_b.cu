// Product with the second matrix given transposed: both are turned on their way to shared memory.
// assay: task kernelbench/1/17
// assay: twin TF32 expect low_precision|wrong_value -- cuts the factors to the ten bits that TF32 keeps
// assay: twin NO_COLUMN_CHECK expect wrong_value|out_of_bounds -- writes whole tiles to the right of the last column
// Single precision throughout: a block of 256 threads makes a tile of 128 x 128, each thread 8 x 8 of it in registers.
// Slices of 8 terms travel by cp.async through a ring of four in shared memory. What limits it is the rate of FFMA.
// assay: let tiles = ceil_div(M, 128) * ceil_div(N, 128)
// assay: let whole = N % 4 == 0
// assay: launch matmul<4> grid=tiles block=256 if=whole args=a, b, y, M, K, N
// assay: launch matmul<1> grid=tiles block=256 if=!whole args=a, b, y, M, K, N
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { BM = 128, BN = 128, BK = 8, STAGES = 4, THREADS = 256, PITCH = 132 };

// V floats from global to shared memory, past the registers; zeros where `inside` is false.
template <int V> static __device__ void copy_async(float *to, const float *from, bool inside) {
  unsigned int at = (unsigned int)__cvta_generic_to_shared(to);
  if (V == 4)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(inside ? 16 : 0) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at), "l"(from), "r"(inside ? 4 : 0) : "memory");
}

static __device__ void copy_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until all groups of this thread but the last N have arrived.
template <int N> static __device__ void copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

// A slice of 128 x BK of a matrix whose rows run along the sum; it is transposed on its way, float by float, which the
// pitch of 132 floats makes free of bank conflicts.
static __device__ void fetch_across(float (*to)[PITCH], const float *from, long long pitch, int k_left, int left) {
  const int rows = THREADS / BK;
  int column = (int)threadIdx.x % BK, row = (int)threadIdx.x / BK;
#pragma unroll
  for (int i = 0; i < 128; i += rows)
    copy_async<1>(&to[column][row + i], from + (row + i) * pitch + column, column < k_left && row + i < left);
}

// What the threads of a block add up of the terms [k0, k1) of the tile at (m0, n0): 8 x 8 sums in each thread, of rows
// row_of(i) and columns column_of(j). Tiles of both operands arrive STAGES - 1 slices ahead of the arithmetic.
static __device__ int row_of(int i) {
  int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  return warp / 2 * 32 + i / 4 * 16 + lane / 8 * 4 + i % 4;
}

static __device__ int column_of(int j) {
  int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  return warp % 2 * 64 + j / 4 * 32 + lane % 8 * 4 + j % 4;
}

template <int V>
static __device__ void add_products(float (&sum)[8][8], const float *a, long long lda, const float *b, long long ldb,
                                    int m0, int M, int n0, int N, int k0, int k1) {
  __shared__ __align__(16) float as[STAGES][BK][PITCH], bs[STAGES][BK][PITCH];
  const int slices = (k1 - k0 + BK - 1) / BK;
  const float *a_from = a + m0 * lda + k0;
  const float *b_from = b + n0 * ldb + k0;
  for (int s = 0; s < STAGES - 1; s++) {
    if (s < slices) {
      fetch_across(as[s % STAGES], a_from + s * BK, lda, k1 - k0 - s * BK, M - m0);
      fetch_across(bs[s % STAGES], b_from + s * BK, ldb, k1 - k0 - s * BK, N - n0);
    }
    copy_commit();
  }
  for (int s = 0; s < slices; s++) {
    copy_wait<STAGES - 2>();
    __syncthreads(); // the slice is there, and everyone is done with the one before it
    int next = s + STAGES - 1;
    if (next < slices) {
      fetch_across(as[next % STAGES], a_from + next * BK, lda, k1 - k0 - next * BK, M - m0);
      fetch_across(bs[next % STAGES], b_from + next * BK, ldb, k1 - k0 - next * BK, N - n0);
    }
    copy_commit();
#pragma unroll
    for (int k = 0; k < BK; k++) {
      float4 a_low = *(const float4 *)&as[s % STAGES][k][row_of(0)],
             a_high = *(const float4 *)&as[s % STAGES][k][row_of(4)];
      float4 b_low = *(const float4 *)&bs[s % STAGES][k][column_of(0)];
      float4 b_high = *(const float4 *)&bs[s % STAGES][k][column_of(4)];
      float am[8] = {a_low.x, a_low.y, a_low.z, a_low.w, a_high.x, a_high.y, a_high.z, a_high.w};
      float bn[8] = {b_low.x, b_low.y, b_low.z, b_low.w, b_high.x, b_high.y, b_high.z, b_high.w};
#ifdef TF32
      for (int i = 0; i < 8; i++) {
        am[i] = __uint_as_float(__float_as_uint(am[i]) & 0xffffe000u);
        bn[i] = __uint_as_float(__float_as_uint(bn[i]) & 0xffffe000u);
      }
#endif
#pragma unroll
      for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 8; j++)
          sum[i][j] += am[i] * bn[j];
    }
  }
}

// Writes the sums to the tile at (m0, n0) of y, four at a time where rows allow it.
template <int V>
static __device__ void store_tile(const float (&sum)[8][8], float *y, long long ldy, int m0, int M, int n0, int N) {
#pragma unroll
  for (int i = 0; i < 8; i++) {
    int m = m0 + row_of(i);
    if (m >= M)
      continue;
    float *row = y + m * ldy;
#pragma unroll
    for (int j = 0; j < 8; j += 4) {
      int n = n0 + column_of(j);
      if (V == 4 && n < N)
        *(float4 *)&row[n] = make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
#pragma unroll
      for (int c = 0; V == 1 && c < 4; c++)

#ifndef NO_COLUMN_CHECK
        if (n + c < N)
#endif

          row[n + c] = sum[i][j + c];
    }
  }
}

// The place of a tile: eight rows of tiles are walked column by column, so that blocks that run at the same time share
// what they read in the L2 cache.
static __device__ void tile_place(int block, int M, int N, int *m0, int *n0) {
  int down = (M + BM - 1) / BM, across = (N + BN - 1) / BN;
  int first = block / (8 * across) * 8, rows = min(down - first, 8), rest = block % (8 * across);
  *m0 = (first + rest % rows) * BM;
  *n0 = rest / rows * BN;
}

template <int V>
__global__ void __launch_bounds__(THREADS, 2)
    matmul(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ y, int M, int K, int N) {
  int m0, n0;
  float sum[8][8] = {};
  tile_place((int)blockIdx.x, M, N, &m0, &n0);
  add_products<V>(sum, a, K, b, K, m0, M, n0, N, 0, K);
  store_tile<V>(sum, y, N, m0, M, n0, N);
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  int M = (int)args->inputs[0].dims[0], K = (int)args->inputs[0].dims[1], N = (int)args->inputs[1].dims[0];
  const float *a = (const float *)args->inputs[0].data, *b = (const float *)args->inputs[1].data;
  float *y = (float *)args->outputs[0].data;
  unsigned int blocks = (unsigned int)((M + BM - 1) / BM * ((N + BN - 1) / BN));
  if (N % 4 == 0)
    matmul<4><<<blocks, THREADS, 0, stream>>>(a, b, y, M, K, N);
  else
    matmul<1><<<blocks, THREADS, 0, stream>>>(a, b, y, M, K, N);
}
#endif
