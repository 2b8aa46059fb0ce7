// A product for every expert in bf16, in one launch, by the tensor cores of Hopper as in bf16_matmul.cu: x's rows are
// the tensor core's columns, so that a tile has 32 to 224 of them, by how many rows an expert has on average. A block
// finds its expert and its rows from where groups end: one warp adds up at the beginning how many tiles the experts
// before have. A tile reads beyond its group's end, where other experts' rows are, but does not write there: the copy
// engine writes whole boxes of 32 rows, and threads what is left of a group.
// assay: task fusedops/grouped_gemm/bf16_routed_gemm
// assay: tune ROWS 0,32,64,128,224
// assay: twin FIRST_EXPERT expect wrong_value|low_precision|wrong_class -- every row gets the first one's weights
// assay: twin DROP_LAST expect wrong_value|low_precision|wrong_class|unwritten -- leaves the last row of every group
// assay: twin LATE expect wrong_value|low_precision|wrong_class|unwritten -- a group begins a row too late
// assay: twin LAST_SLICE expect wrong_value|low_precision -- leaves out the last slice of terms
// assay: twin HALF_SUMS expect wrong_value|low_precision -- rounds the sums to bf16 after each slice
// The copy engine wants rows of a multiple of 16 bytes: other shapes go to a plain kernel.
// assay: require E <= 128 -- where groups end is in shared memory
// assay: let whole = K % 8 == 0 && N % 8 == 0
// assay: let mean = T / E
// assay: let rows = ROWS > 0 ? ROWS : mean <= 16 ? 32 : mean <= 96 ? 64 : mean < 512 ? 128 : 224
// assay: let blocks = min((ceil_div(T, rows) + E) * ceil_div(N, 128), 132)
// assay: tensor_map tx of=x type=bf16 dims=whole ? K : 1,whole ? T : 1 strides=whole ? K : 8 box=64,rows \
//   swizzle=128 l2=256
// assay: tensor_map tw of=w type=bf16 dims=whole ? N : 1,whole ? K : 1,E strides=whole ? N : 8,whole ? K * N : 8 \
//   box=64,64,1 swizzle=128 l2=256
// assay: tensor_map ty of=y type=bf16 dims=whole ? N : 1,whole ? T : 1 strides=whole ? N : 8 box=64,32 swizzle=128
// assay: launch routed<32, 9> grid=blocks block=384 shared=218112 if=whole && rows == 32 \
//   args=tx, tw, ty, y, ends, T, E, K, N
// assay: launch routed<64, 8> grid=blocks block=384 shared=230400 if=whole && rows == 64 \
//   args=tx, tw, ty, y, ends, T, E, K, N
// assay: launch routed<128, 6> grid=blocks block=384 shared=230400 if=whole && rows == 128 \
//   args=tx, tw, ty, y, ends, T, E, K, N
// assay: launch routed<224, 4> grid=blocks block=384 shared=214016 if=whole && rows == 224 \
//   args=tx, tw, ty, y, ends, T, E, K, N
// assay: launch gemm grid=ceil_div(N, 64),ceil_div(T, 64)+E block=256 if=!whole args=x, w, ends, y, T, E, N, K
#ifndef ROWS
#define ROWS 0
#endif
typedef unsigned short bf16;

struct alignas(64) CUtensorMap {
  unsigned long long opaque[16];
};

enum { BK = 64, PIECE = 64 * BK * 2, ROW = BK * 2 }; // terms of a slice; bytes of 64 columns of w, of a row of x in it
enum { GROUPS = 2, BAND = 8, SLOTS = 4, SLOT = 32 * ROW }; // rows of tiles in a band; places for boxes of y of 32 rows

static __device__ unsigned shared_address(const void *p) {
  return (unsigned)__cvta_generic_to_shared(p);
}

static __device__ void barrier_init(unsigned long long *barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

// Arrives, and sets how many bytes must come before the phase ends.
static __device__ void barrier_expect(unsigned long long *barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

static __device__ void barrier_arrive(unsigned long long *barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

static __device__ void barrier_wait(unsigned long long *barrier, int parity) {
  asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@done bra over;\nbra again;\nover:\n}" ::"r"(shared_address(barrier)),
               "r"(parity)
               : "memory");
}

// A tensor map to where the copy engine looks for it first.
static __device__ void fetch_map(const CUtensorMap *map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// The box at (x, y) of a tensor map, to shared memory; the barrier counts its bytes.
static __device__ void fetch_box(void *to, const CUtensorMap *map, int x, int y, unsigned long long *barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          shared_address(to)),
      "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier))
      : "memory");
}

// The box at (x, y) of the matrix z of a tensor map, to shared memory; the barrier counts its bytes.
static __device__ void fetch_box(void *to, const CUtensorMap *map, int x, int y, int z, unsigned long long *barrier) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
               "[%5];" ::"r"(shared_address(to)),
               "l"(map), "r"(x), "r"(y), "r"(z), "r"(shared_address(barrier))
               : "memory");
}

// A box from shared memory to (x, y) of a tensor map; what lies outside of it is left out.
static __device__ void store_box(const CUtensorMap *map, int x, int y, const void *from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x), "r"(y),
               "r"(shared_address(from))
               : "memory");
}

// The wgmma descriptor of a tile in shared memory: rows of 128 bytes, swizzled as the copy engine does it. Groups of 8
// rows are 1024 bytes apart, and so are pieces of 64 columns a piece.
static __device__ unsigned long long describe(const void *tile) {
  return (unsigned long long)((shared_address(tile) & 0x3ffff) >> 4) | (unsigned long long)(PIECE >> 4) << 16 |
         (unsigned long long)(1024 >> 4) << 32 | 1ull << 62;
}

// The registers of sums by eights, as the instruction names them and as the compiler does.
#define N0 "%0, %1, %2, %3, %4, %5, %6, %7"
#define N1 "%8, %9, %10, %11, %12, %13, %14, %15"
#define N2 "%16, %17, %18, %19, %20, %21, %22, %23"
#define N3 "%24, %25, %26, %27, %28, %29, %30, %31"
#define N4 "%32, %33, %34, %35, %36, %37, %38, %39"
#define N5 "%40, %41, %42, %43, %44, %45, %46, %47"
#define N6 "%48, %49, %50, %51, %52, %53, %54, %55"
#define N7 "%56, %57, %58, %59, %60, %61, %62, %63"
#define N8 "%64, %65, %66, %67, %68, %69, %70, %71"
#define N9 "%72, %73, %74, %75, %76, %77, %78, %79"
#define N10 "%80, %81, %82, %83, %84, %85, %86, %87"
#define N11 "%88, %89, %90, %91, %92, %93, %94, %95"
#define N12 "%96, %97, %98, %99, %100, %101, %102, %103"
#define N13 "%104, %105, %106, %107, %108, %109, %110, %111"
#define N14 "%112, %113, %114, %115, %116, %117, %118, %119"
#define C4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define C8(i) C4(8 * i), C4(8 * i + 4)
#define MULTIPLY(n, names, a_name, b_name, add_name, ...)                                                              \
  static __device__ void multiply(float(&d)[n / 2], unsigned long long a, unsigned long long b, bool add) {            \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" add_name ", 0;\n"                                                \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16 {" names "}, %" a_name ", %" b_name         \
                 ", p, 1, 1, 1, 0;\n}"                                                                                 \
                 : __VA_ARGS__                                                                                         \
                 : "l"(a), "l"(b), "r"((int)add));                                                                     \
  }
MULTIPLY(32, N0 ", " N1, "16", "17", "18", C8(0), C8(1))
MULTIPLY(64, N0 ", " N1 ", " N2 ", " N3, "32", "33", "34", C8(0), C8(1), C8(2), C8(3))
MULTIPLY(128, N0 ", " N1 ", " N2 ", " N3 ", " N4 ", " N5 ", " N6 ", " N7, "64", "65", "66", C8(0), C8(1), C8(2), C8(3),
         C8(4), C8(5), C8(6), C8(7))
MULTIPLY(224,
         N0 ", " N1 ", " N2 ", " N3 ", " N4 ", " N5 ", " N6 ", " N7 ", " N8 ", " N9 ", " N10 ", " N11 ", " N12 ", " N13,
         "112", "113", "114", C8(0), C8(1), C8(2), C8(3), C8(4), C8(5), C8(6), C8(7), C8(8), C8(9), C8(10), C8(11),
         C8(12), C8(13))

// Two sums as a word, the first one in the lower half.
static __device__ unsigned pack(float low, float high) {
  unsigned word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}

// A warp's sums of 16 columns of y and 16 rows, to shared memory: eight lanes each say where the columns of a matrix of
// 8 x 8 go.
static __device__ void store_matrices(unsigned to, const float *d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
               "r"(pack(d[0], d[1])), "r"(pack(d[2], d[3])), "r"(pack(d[4], d[5])), "r"(pack(d[6], d[7]))
               : "memory");
}

// Tiles of BM rows of y and 64 columns for each of two groups of warps.
template <int BM_, int STAGES_> struct form {
  enum {
    BM = BM_,
    STAGES = STAGES_,
    ACROSS = 64 * GROUPS,
    OWN_BYTES = GROUPS * PIECE, // of w
    COMMON_BYTES = BM * ROW,    // of x
    BOX = 32
  };
};

// A block's position in the ring of slices: the slot, and how often it went round.
template <class F> struct ring {
  int slot, parity;
  __device__ void next() {
    if (++slot == F::STAGES) {
      slot = 0;
      parity ^= 1;
    }
  }
};

// The shared memory of a block: slices of w and x, boxes of y, and the barriers of the ring.
template <class F> struct memory_of {
  unsigned char *own, *common, *slots;
  unsigned long long *full, *empty;
};

// The place in a matrix of `down` rows of tiles: BAND rows are walked column by column, the next ones from where these
// ended.
template <class F> static __device__ void tile_place(int tile, int down, int N, int *m0, int *n0) {
  int across = (N + F::ACROSS - 1) / F::ACROSS;
  int first = tile / (BAND * across) * BAND, rows = min(down - first, (int)BAND), rest = tile % (BAND * across);
  int column = first / BAND % 2 ? across - 1 - rest / rows : rest / rows;
  *m0 = (first + rest % rows) * F::BM;
  *n0 = column * F::ACROSS;
}

// Where the rows of the groups before a group end, and how many rows of tiles they have.
struct groups {
  int rows[129], tiles[129];
};

// By one warp. Ends that are not in order are those of empty groups.
template <class F> static __device__ void find_groups(groups *g, const int *ends, int rows, int experts) {
  int lane = (int)threadIdx.x, begin = 0, tiles = 0;
  if (lane == 0)
    g->rows[0] = g->tiles[0] = 0;
  for (int first = 0; first < experts; first += 32) {
    int end = first + lane < experts ? min(max(ends[first + lane], 0), rows) : 0;
#pragma unroll
    for (int step = 1; step < 32; step *= 2)
      end = max(end, __shfl_up_sync(0xffffffffu, end, step)); // a lane without one below gets its own
    end = max(end, begin);
    int before = __shfl_up_sync(0xffffffffu, end, 1);
    before = lane == 0 ? begin : before;
    int mine = (end - before + F::BM - 1) / F::BM, sum = mine;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      int other = __shfl_up_sync(0xffffffffu, sum, step);
      sum += lane >= step ? other : 0;
    }
    if (first + lane < experts) {
      g->rows[first + lane + 1] = end;
      g->tiles[first + lane + 1] = tiles + sum;
    }
    begin = __shfl_sync(0xffffffffu, end, 31);
    tiles += __shfl_sync(0xffffffffu, sum, 31);
  }
}

// The tile number `tile` of all groups: its expert, which is not before *expert, its first row, the group's end and its
// first column. False: there are not so many.
template <class F>
static __device__ bool find_tile(const groups *g, int tile, int experts, int N, int *expert, int *m0, int *end,
                                 int *n0) {
  int across = (N + F::ACROSS - 1) / F::ACROSS, e = *expert;
  while (e < experts && tile >= g->tiles[e + 1] * across)
    e++;
  *expert = e;
  if (e == experts)
    return false;
  tile_place<F>(tile - g->tiles[e] * across, g->tiles[e + 1] - g->tiles[e], N, m0, n0);
  *m0 += g->rows[e];
  *end = g->rows[e + 1];
#ifdef LATE
  *m0 += e > 0;
#endif
  return true;
}

template <class F>
static __device__ void bring_slices(const CUtensorMap *tx, const CUtensorMap *tw, memory_of<F> at, const groups *g,
                                    int experts, int K, int N) {
  int expert = 0, m0, end, n0, count = (K + BK - 1) / BK;
  bool back = false;
  ring<F> r = {0, 1};
  for (int tile = (int)blockIdx.x; find_tile<F>(g, tile, experts, N, &expert, &m0, &end, &n0); tile += (int)gridDim.x) {
#pragma unroll 1
    for (int s = 0; s < count; s++, r.next()) {
      int k = (back ? count - 1 - s : s) * BK;
      barrier_wait(&at.empty[r.slot], r.parity);
      barrier_expect(&at.full[r.slot], F::OWN_BYTES + F::COMMON_BYTES);
#ifdef FIRST_EXPERT
      int of = 0;
#else
      int of = expert;
#endif
#pragma unroll
      for (int i = 0; i < GROUPS; i++)
        fetch_box(at.own + r.slot * F::OWN_BYTES + i * PIECE, tw, n0 + i * 64, k, of, &at.full[r.slot]);
      fetch_box(at.common + r.slot * F::COMMON_BYTES, tx, k, m0, &at.full[r.slot]);
    }
    back = !back;
  }
}

// Adds the slices of a tile.
template <class F>
static __device__ void add_slices(float (&sum)[F::BM / 2], memory_of<F> at, ring<F> *r, int group, int K) {
  int count = (K + BK - 1) / BK, last = -1;
  for (int s = 0; s < count; s++, r->next()) {
    barrier_wait(&at.full[r->slot], r->parity);
    unsigned long long first = describe(at.own + r->slot * F::OWN_BYTES + group * PIECE);
    unsigned long long second = describe(at.common + r->slot * F::COMMON_BYTES);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#ifdef LAST_SLICE
    if (s == 0 || s + 1 < count)
#endif
#pragma unroll
      for (int step = 0; step < BK / 16; step++)
        multiply(sum, first + (step * 16 * ROW >> 4), second + (step * 32 >> 4), s > 0 || step > 0);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#ifdef HALF_SUMS
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
    for (int i = 0; i < F::BM / 2; i++) {
      asm volatile("" : "+f"(sum[i])::"memory");
      sum[i] = __uint_as_float(pack(0, sum[i]) & 0xffff0000u);
    }
#endif
    // The slice before is read when at most this one's products are under way; then others may overwrite it.
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    if (last >= 0 && threadIdx.x % 128 == 0)
      barrier_arrive(&at.empty[last]);
    last = r->slot;
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  if (last >= 0 && threadIdx.x % 128 == 0)
    barrier_arrive(&at.empty[last]);
#pragma unroll
  for (int i = 0; i < F::BM / 2; i++)
    asm volatile("" : "+f"(sum[i])::"memory"); // the sums are not to be read before here
}

// Writes a group's 64 columns of y from x on, of BM rows from y on, by way of the group's slots. All slots may still be
// read when this returns.
template <class F>
static __device__ void store_tile(const float (&d)[F::BM / 2], const CUtensorMap *ty, bf16 *y, unsigned char *slots,
                                  int column, int first, int end, int N) {
  int group = (int)threadIdx.x / 128 - 1, warp = (int)threadIdx.x % 128 / 32, lane = (int)threadIdx.x % 32;
#pragma unroll
  for (int q = 0; q < F::BM / F::BOX; q++) {
    unsigned char *box = slots + q % SLOTS * SLOT;
    // Each slot waits for the box before in it. Where a tile's boxes do not end with the last slot, that is another
    // number of boxes ago for the next tile, which waits for all.
    if (threadIdx.x % 128 == 0 && q == 0 && F::BM / F::BOX % SLOTS != 0)
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    else if (threadIdx.x % 128 == 0)
      asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(SLOTS - 1) : "memory");
    asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory");
#pragma unroll
    for (int j = 0; j < F::BOX / 8; j += 2) {
      int row = (j + lane / 16) * 8 + lane % 8, part = warp * 2 + lane / 8 % 2;
      store_matrices(shared_address(box) + row * ROW + (part ^ row % 8) * 16, &d[q * F::BOX / 2 + j * 4]);
    }
    asm volatile("fence.proxy.async.shared::cta;\nbar.sync %0, 128;" ::"r"(1 + group) : "memory");
    int rows = end - first - F::BOX * q;
    if (rows > 0 && rows < F::BOX) // others' rows follow: not by the copy engine
      for (int i = (int)threadIdx.x % 128; i < rows * 8; i += 128)
        if (column + i % 8 * 8 < N)
          *(uint4 *)&y[(long long)(first + F::BOX * q + i / 8) * N + column + i % 8 * 8] =
              *(const uint4 *)(box + i / 8 * ROW + (i % 8 ^ i / 8 % 8) * 16);
    if (threadIdx.x % 128 == 0) {
      if (column < N && first + F::BOX * (q + 1) <= end)
        store_box(ty, column, first + F::BOX * q, box);
      asm volatile("cp.async.bulk.commit_group;" ::: "memory"); // of nothing too: each slot waits for its own box
    }
  }
}

template <class F>
static __device__ void make_tiles(const CUtensorMap *ty, bf16 *y, memory_of<F> at, const groups *g, int experts, int K,
                                  int N) {
  int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / 128, 0) - 1; // which the compiler sees to be one for a warp
  int expert = 0, m0, end, n0;
  ring<F> r = {0, 0};
  float sum[F::BM / 2];
  for (int tile = (int)blockIdx.x; find_tile<F>(g, tile, experts, N, &expert, &m0, &end, &n0); tile += (int)gridDim.x) {
    add_slices<F>(sum, at, &r, group, K);
#ifdef DROP_LAST
    end--;
#endif
    store_tile<F>(sum, ty, y, at.slots + group * SLOTS * SLOT, n0 + group * 64, m0, end, N);
  }
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); // shared memory has been read
}

template <int BM, int STAGES>
__global__ void __launch_bounds__(128 + 128 * GROUPS, 1)
    routed(const __grid_constant__ CUtensorMap tx, const __grid_constant__ CUtensorMap tw,
           const __grid_constant__ CUtensorMap ty, bf16 *y, const int *ends, int rows, int experts, int K, int N) {
  typedef form<BM, STAGES> F;
  extern __shared__ unsigned char memory[];
  __shared__ unsigned long long full[STAGES], empty[STAGES];
  __shared__ groups g;
  unsigned char *own = memory + (1024 - shared_address(memory) % 1024) % 1024;
  memory_of<F> at = {own, own + STAGES * F::OWN_BYTES, own + STAGES * (F::OWN_BYTES + F::COMMON_BYTES), full, empty};
  if (threadIdx.x == 0) {
    fetch_map(&tx);
    fetch_map(&tw);
    fetch_map(&ty);
    for (int s = 0; s < STAGES; s++) {
      barrier_init(&full[s], 1);
      barrier_init(&empty[s], GROUPS);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if (threadIdx.x < 32) {
    __syncwarp();
    find_groups<F>(&g, ends, rows, experts);
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0)
      bring_slices<F>(&tx, &tw, at, &g, experts, K, N);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    make_tiles<F>(&ty, y, at, &g, experts, K, N);
  }
}

// Any shape: tiles of 64 x 64, by ordinary arithmetic.
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
