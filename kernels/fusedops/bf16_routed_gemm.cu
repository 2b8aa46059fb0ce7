// A product for every expert in bf16, in one launch: a block finds its expert and its rows from where groups end.
// assay: task fusedops/grouped_gemm/bf16_routed_gemm
// assay: twin FIRST_EXPERT expect wrong_value|low_precision|wrong_class -- every row gets the first one's weights
// assay: twin DROP_LAST expect wrong_value|low_precision|wrong_class|unwritten -- leaves the last row of every group
// assay: twin LATE expect wrong_value|low_precision|wrong_class|unwritten -- a group begins a row too late
// assay: launch gemm grid=ceil_div(N, 64),ceil_div(T, 64)+E block=256 args=x, w, ends, y, T, E, N, K
typedef unsigned short bf16;

static __device__ float wide(bf16 x) {
  return __uint_as_float((unsigned)x << 16);
}

// To nearest, ties to even. NaN stays NaN.
static __device__ bf16 narrow(float x) {
  unsigned u = __float_as_uint(x);
  if ((u & 0x7fffffffu) > 0x7f800000u)
    return (bf16)(u >> 16 | 0x40);
  return (bf16)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

enum { TILE = 64, DEPTH = 16, THREADS = 256 };

// y = a b in tiles of 64 x 64: a thread has 4 x 4 sums, in single precision.
static __device__ void product(const bf16 *a, const bf16 *b, int m, int n, int k, float (&sums)[4][4], int row,
                               int column) {
  __shared__ float as[DEPTH][TILE + 1], bs[DEPTH][TILE + 1];
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  for (int l = 0; l < k; l += DEPTH) {
    for (int i = threadIdx.x; i < TILE * DEPTH; i += THREADS) {
      int r = i / DEPTH, d = i % DEPTH;
      as[d][r] = row + r < m && l + d < k ? wide(a[(long long)(row + r) * k + l + d]) : 0;
      int c = i % TILE, e = i / TILE;
      bs[e][c] = column + c < n && l + e < k ? wide(b[(long long)(l + e) * n + column + c]) : 0;
    }
    __syncthreads();
    for (int d = 0; d < DEPTH; d++)
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
          sums[i][j] += as[d][ty + 16 * i] * bs[d][tx + 16 * j];
    __syncthreads();
  }
}

// Tile number `tile` among all groups' tiles: *expert, and rows [*row, *end). False: there are not so many.
static __device__ bool find(const int *ends, int experts, int rows, int tile, int *expert, int *row, int *end) {
  int begin = 0;
  for (int e = 0; e < experts; e++) {
    int stop = min(ends[e], rows);
    int tiles = stop > begin ? (stop - begin + TILE - 1) / TILE : 0;
    if (tile < tiles) {
      *expert = e;
      *row = begin + tile * TILE;
      *end = stop;
      return true;
    }
    tile -= tiles;
    begin = max(begin, stop);
  }
  return false;
}

__global__ void gemm(const bf16 *x, const bf16 *w, const int *ends, bf16 *y, int rows, int experts, int n, int k) {
  float sums[4][4] = {};
  int expert, row, end, column = blockIdx.x * TILE;
  if (!find(ends, experts, rows, blockIdx.y, &expert, &row, &end))
    return;
#ifdef FIRST_EXPERT
  expert = 0;
#endif
#ifdef LATE
  row += expert > 0;
#endif
  product(x, w + (long long)expert * k * n, end, n, k, sums, row, column);
#ifdef DROP_LAST
  end--;
#endif
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      int r = row + threadIdx.x / 16 + 16 * i, c = column + threadIdx.x % 16 + 16 * j;
      if (r < end && c < n)
        y[(long long)r * n + c] = narrow(sums[i][j]);
    }
}
