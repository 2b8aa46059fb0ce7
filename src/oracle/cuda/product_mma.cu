// SPDX-License-Identifier: Apache-2.0
// Wide products on tensor cores, as product_tile and product_tile_squares (contraction.cu): the same panels, only wider,
// and the same parts. CUDA alone: a block of four warps shares its panels' terms through shared memory, which is filled
// ahead of use, and a warp takes 32 rows by half of the block's columns.
//
// Sums of squared terms are a product too, of the squared elements, so both sums of a block come from one pass over its
// panels: elements are squared where they lie in registers.

#define WARPS 4
#define THREADS (32 * WARPS)
#define STAGE_DEPTH 16 // terms in a stage of shared memory, and of one multiplication
#define STAGES 3
#define WIDTH_A 64
#define PAD 4 // doubles after a row: a half-warp's reads, four rows of four neighbours, then meet 16 different banks
#define ROW_TILES 2 // of 16 rows, of a warp

// 16 bytes to shared memory, or zeros.
static __device__ __forceinline__ void fetch(double *to, const double *from, bool inside) {
#if __CUDA_ARCH__ >= 800
  unsigned int at = (unsigned int)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(inside ? 16 : 0) : "memory");
#else
  to[0] = inside ? from[0] : 0;
  to[1] = inside ? from[1] : 0;
#endif
}

static __device__ __forceinline__ void fetch_commit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most this many stages are still being copied.
template <int LATER> static __device__ __forceinline__ void fetch_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
#endif
}

// d += a b for 16 rows, 8 columns and 16 terms. Of lane 4 g + t: a[2 i + h] is row g + 8 h, term 4 i + t; b[i] is term
// 4 i + t, column g; d[2 h + c] is row g + 8 h, column 2 t + c.
static __device__ __forceinline__ void multiply(double (&d)[4], const double (&a)[8], const double (&b)[4]) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
               : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
               : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]),
                 "d"(b[1]), "d"(b[2]), "d"(b[3]));
#elif __CUDA_ARCH__ >= 800
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int h = 0; h < 2; h++)
      asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+d"(d[2 * h]), "+d"(d[2 * h + 1])
                   : "d"(a[2 * i + h]), "d"(b[i]));
#else
  __trap(); // never reached: see product_panels_for
#endif
}

// A block's place: its panels, and where its part of y begins.
struct block_place {
  const double *a, *b; // the first term of its split
  int64_t row, column, out;
  int terms;
};

// Neighbouring blocks share panels through the second cache: a group of row panels, then the columns.
static __device__ __forceinline__ bool place_of(const struct product_tile_args *t, int width, struct block_place *p) {
  int64_t w = blockIdx.x, groups = (t->a_panels + t->group - 1) / t->group;
  int64_t rest = w / t->group, row_panel = w - rest * t->group;
  w = rest / t->b_panels;
  int64_t column_panel = rest - w * t->b_panels;
  rest = w / groups;
  row_panel += (w - rest * groups) * t->group;
  int64_t split = rest / t->batches, batch = rest - split * t->batches, l = split * t->depth;
  if (row_panel >= t->a_panels || split >= t->splits)
    return false;
  int64_t terms = t->k - l < t->depth ? t->k - l : t->depth;
  p->terms = terms > 0 ? (int)terms : 0;
  p->row = row_panel * WIDTH_A;
  p->column = column_panel * width;
  p->out = (split * t->batches + batch) * t->m * t->n;
  p->a = (const double *)t->a + ((batch * t->a_step + row_panel) * t->k + l) * WIDTH_A;
  p->b = (const double *)t->b + ((batch * t->b_step + column_panel) * t->k + l) * width;
  return true;
}

// Rows of `WIDTH` doubles that lie one after the other, to rows with a pad; rows from `rows` on are zero.
template <int WIDTH> static __device__ __forceinline__ void fetch_rows(double *to, const double *from, int rows) {
  constexpr int pieces = WIDTH / 2;
#pragma unroll
  for (int i = threadIdx.x; i < STAGE_DEPTH * pieces; i += THREADS) {
    int row = i / pieces, at = i % pieces * 2;
    bool inside = row < rows;
    fetch(to + row * (WIDTH + PAD) + at, inside ? from + row * WIDTH + at : from, inside);
  }
}

// One stage of a warp: d += a b, or of b's squares.
template <int COLUMNS, int WIDTH, bool SQUARED>
static __device__ __forceinline__ void accumulate(double (&d)[ROW_TILES][COLUMNS][4], const double (&a)[ROW_TILES][8],
                                                  const double *from_b) {
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) {
    double b[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      b[i] = from_b[i * 4 * (WIDTH + PAD) + c * 8];
      if (SQUARED)
        b[i] *= b[i];
    }
#pragma unroll
    for (int r = 0; r < ROW_TILES; r++)
      multiply(d[r][c], a[r], b);
  }
}

template <int WIDTH, bool SQUARES> static __device__ __forceinline__ void tile(const struct product_tile_args *t) {
  constexpr int columns = WIDTH / 16; // tiles of 8, of a warp
  constexpr int stage = STAGE_DEPTH * (WIDTH_A + PAD + WIDTH + PAD);
  extern __shared__ __align__(16) double shared[];
  struct block_place p;
  if (!place_of(t, WIDTH, &p))
    return;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, q = lane % 4;
  int own_row = warp / 2 * 32, own_column = warp % 2 * (WIDTH / 2);
  bool idle = p.row + own_row >= t->m || p.column + own_column >= t->n; // still fetches for the others
  double y[ROW_TILES][columns][4], y2[ROW_TILES][SQUARES ? columns : 1][4];
#pragma unroll
  for (int r = 0; r < ROW_TILES; r++)
#pragma unroll
    for (int c = 0; c < columns; c++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        y[r][c][i] = 0;
        if (SQUARES)
          y2[r][c][i] = 0;
      }
  int steps = (p.terms + STAGE_DEPTH - 1) / STAGE_DEPTH;
#pragma unroll
  for (int s = 0; s < STAGES - 1; s++) {
    if (s < steps) {
      fetch_rows<WIDTH_A>(shared + s * stage, p.a + (int64_t)s * STAGE_DEPTH * WIDTH_A, p.terms - s * STAGE_DEPTH);
      fetch_rows<WIDTH>(shared + s * stage + STAGE_DEPTH * (WIDTH_A + PAD), p.b + (int64_t)s * STAGE_DEPTH * WIDTH,
                        p.terms - s * STAGE_DEPTH);
    }
    fetch_commit();
  }
  int slot = 0, fill = STAGES - 1;
  for (int s = 0; s < steps; s++) {
    // All threads have this stage, and all are done with the one that is filled next.
    fetch_wait<STAGES - 2>();
    __syncthreads();
    int next = s + STAGES - 1;
    if (next < steps) {
      fetch_rows<WIDTH_A>(shared + fill * stage, p.a + (int64_t)next * STAGE_DEPTH * WIDTH_A,
                          p.terms - next * STAGE_DEPTH);
      fetch_rows<WIDTH>(shared + fill * stage + STAGE_DEPTH * (WIDTH_A + PAD),
                        p.b + (int64_t)next * STAGE_DEPTH * WIDTH, p.terms - next * STAGE_DEPTH);
    }
    fetch_commit();
    const double *from_a = shared + slot * stage + q * (WIDTH_A + PAD) + own_row + g;
    const double *from_b = shared + slot * stage + STAGE_DEPTH * (WIDTH_A + PAD) + q * (WIDTH + PAD) + own_column + g;
    slot = slot + 1 < STAGES ? slot + 1 : 0;
    fill = fill + 1 < STAGES ? fill + 1 : 0;
    if (idle)
      continue;
    double a[ROW_TILES][8];
#pragma unroll
    for (int r = 0; r < ROW_TILES; r++)
#pragma unroll
      for (int i = 0; i < 8; i++)
        a[r][i] = from_a[i / 2 * 4 * (WIDTH_A + PAD) + r * 16 + i % 2 * 8];
    accumulate<columns, WIDTH, false>(y, a, from_b);
    if (SQUARES) {
#pragma unroll
      for (int r = 0; r < ROW_TILES; r++)
#pragma unroll
        for (int i = 0; i < 8; i++)
          a[r][i] *= a[r][i];
      accumulate<SQUARES ? columns : 1, WIDTH, true>(y2, a, from_b);
    }
  }
#pragma unroll
  for (int r = 0; r < ROW_TILES; r++)
#pragma unroll
    for (int c = 0; c < columns; c++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        int64_t row = p.row + own_row + r * 16 + i / 2 * 8 + g;
        int64_t column = p.column + own_column + c * 8 + 2 * q + i % 2;
        if (row >= t->m || column >= t->n)
          continue;
        ((double *)t->y)[p.out + row * t->n + column] = y[r][c][i];
        if (SQUARES)
          ((double *)t->t2)[p.out + row * t->n + column] = y2[r][c][i];
      }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    product_mma(const __grid_constant__ struct product_tile_args args) {
  tile<128, false>(&args);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    product_mma_squares(const __grid_constant__ struct product_tile_args args) {
  tile<64, true>(&args);
}
