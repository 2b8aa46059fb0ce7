// Four products of their own sizes in bf16, a launch each.
// assay: task fusedops/grouped_gemm/bf16_grouped_gemm
// assay: twin FIRST_WEIGHTS expect wrong_value|low_precision|wrong_class -- the last group takes another one's weights
// assay: twin DROP_LAST expect wrong_value|low_precision|wrong_class|unwritten -- leaves the last row of every group
// assay: launch gemm grid=ceil_div(N, 64),ceil_div(M0, 64) block=256 args=x0, w0, w0, y0, M0, N, K, 0
// assay: launch gemm grid=ceil_div(N, 64),ceil_div(M1, 64) block=256 args=x1, w1, w0, y1, M1, N, K, 1
// assay: launch gemm grid=ceil_div(N, 64),ceil_div(M2, 64) block=256 args=x2, w2, w0, y2, M2, N, K, 2
// assay: launch gemm grid=ceil_div(N, 64),ceil_div(M3, 64) block=256 args=x3, w3, w0, y3, M3, N, K, 3
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

__global__ void gemm(const bf16 *x, const bf16 *w, const bf16 *first, bf16 *y, int m, int n, int k, int group) {
  float sums[4][4] = {};
  int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
#ifdef FIRST_WEIGHTS
  w = group == 3 ? first : w;
#endif
  product(x, w, m, n, k, sums, row, column);
#ifdef DROP_LAST
  m--;
#endif
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      int r = row + threadIdx.x / 16 + 16 * i, c = column + threadIdx.x % 16 + 16 * j;
      if (r < m && c < n)
        y[(long long)r * n + c] = narrow(sums[i][j]);
    }
}
