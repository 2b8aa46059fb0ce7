// Matrix product with bias and GELU in bf16, one launch: sums stay in single precision until GELU is done.
// assay: task fusedops/gemm_gelu/bf16_gemm_gelu
// assay: twin NO_GELU expect wrong_value|low_precision|wrong_class -- the sum as it is
// assay: twin NO_BIAS expect wrong_value|low_precision|wrong_class -- forgets b
// assay: twin DROP_LAST expect wrong_value|low_precision|wrong_class -- sums without the last term
// assay: launch gemm_gelu grid=ceil_div(N, 64),ceil_div(M, 64) block=256 args=x, w, b, y, M, N, K
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

static __device__ float gelu(float x) {
#if defined(NO_GELU)
  return x;
#else
  return 0.5f * x * erfcf(-0.7071067811865476f * x); // erfc: 1 + erf cancels where x is far below zero
#endif
}

__global__ void gemm_gelu(const bf16 *x, const bf16 *w, const bf16 *b, bf16 *y, int m, int n, int k) {
  float sums[4][4] = {};
  int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
#ifdef DROP_LAST
  int terms = k - 1;
#else
  int terms = k;
#endif
  product(x, w, m, n, terms, sums, row, column);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      int r = row + threadIdx.x / 16 + 16 * i, c = column + threadIdx.x % 16 + 16 * j;
      if (r >= m || c >= n)
        continue;
#ifdef NO_BIAS
      float s = sums[i][j];
#else
      float s = sums[i][j] + wide(b[c]);
#endif
      y[(long long)r * n + c] = narrow(gelu(s));
    }
}
