// A product for every expert in bf16, all of one size, in one launch, by the tensor cores of Hopper as in
// bf16_matmul.cu: tiles of all experts are counted through. x's rows are the tensor core's columns, so that a tile has
// 32 to 224 of them.
// assay: task fusedops/grouped_gemm/bf16_batched_gemm
// assay: tune ROWS 0,32,64,128,224
// assay: twin FIRST_EXPERT expect wrong_value|low_precision|wrong_class -- all take the first one's weights
// assay: twin DROP_LAST expect wrong_value|low_precision|wrong_class|unwritten -- leaves the last rows of every expert
// assay: twin LOST_TERMS expect wrong_value|low_precision -- leaves out sixteen terms of the last slice
// The copy engine wants rows of a multiple of 16 bytes: other shapes go to a plain kernel.
// assay: let whole = K % 8 == 0 && N % 8 == 0
// A tile of 224 rows takes 8 % less time for a row than one of 128, where it is full.
// assay: let high = ceil_div(M, 224) * 224 * 100 < ceil_div(M, 128) * 128 * 108
// assay: let rows = ROWS > 0 ? ROWS : M <= 32 ? 32 : M <= 64 ? 64 : M > 512 && high ? 224 : K * N > 4 * M * (K + N) ? 64 : 128
// assay: let blocks = min(E * ceil_div(M, rows) * ceil_div(N, 128), 132)
// assay: tensor_map tx of=x type=bf16 dims=whole ? K : 1,whole ? M : 1,whole ? E : 1 strides=whole ? K : 8,whole ? M * K : 8 \
//   box=64,rows,1 swizzle=128 l2=256
// assay: tensor_map tw of=w type=bf16 dims=whole ? N : 1,whole ? K : 1,whole ? E : 1 strides=whole ? N : 8,whole ? K * N : 8 \
//   box=64,64,1 swizzle=128 l2=256
// assay: tensor_map ty of=y type=bf16 dims=whole ? N : 1,whole ? M : 1,whole ? E : 1 strides=whole ? N : 8,whole ? M * N : 8 \
//   box=64,32,1 swizzle=128
// assay: launch batched<32, 9> grid=blocks block=384 shared=218112 if=whole && rows == 32 \
//   args=tx, tw, ty, E, M, K, N
// assay: launch batched<64, 8> grid=blocks block=384 shared=230400 if=whole && rows == 64 \
//   args=tx, tw, ty, E, M, K, N
// assay: launch batched<128, 6> grid=blocks block=384 shared=230400 if=whole && rows == 128 \
//   args=tx, tw, ty, E, M, K, N
// assay: launch batched<224, 4> grid=blocks block=384 shared=214016 if=whole && rows == 224 \
//   args=tx, tw, ty, E, M, K, N
// assay: launch gemm grid=ceil_div(N, 64),ceil_div(M, 64),E block=256 if=!whole args=x, w, y, M, N, K
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

// The box at (x, y) of the matrix z of a tensor map, to shared memory; the barrier counts its bytes.
static __device__ void fetch_box(void *to, const CUtensorMap *map, int x, int y, int z, unsigned long long *barrier) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
               "[%5];" ::"r"(shared_address(to)),
               "l"(map), "r"(x), "r"(y), "r"(z), "r"(shared_address(barrier))
               : "memory");
}

// A box from shared memory to (x, y) of the matrix z of a tensor map; what lies outside of it is left out.
static __device__ void store_box(const CUtensorMap *map, int x, int y, int z, const void *from) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map), "r"(x),
               "r"(y), "r"(z), "r"(shared_address(from))
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

// The tile number `tile` of all experts: its expert, and its place there. False: there are not so many.
template <class F>
static __device__ bool find_tile(int tile, int experts, int M, int N, int *expert, int *m0, int *n0) {
  int down = (M + F::BM - 1) / F::BM, each = down * ((N + F::ACROSS - 1) / F::ACROSS);
  *expert = tile / each;
  tile_place<F>(tile % each, down, N, m0, n0);
  return *expert < experts;
}

template <class F>
static __device__ void bring_slices(const CUtensorMap *tx, const CUtensorMap *tw, memory_of<F> at, int experts, int M,
                                    int K, int N) {
  int expert, m0, n0, count = (K + BK - 1) / BK;
  bool back = false;
  ring<F> r = {0, 1};
  for (int tile = (int)blockIdx.x; find_tile<F>(tile, experts, M, N, &expert, &m0, &n0); tile += (int)gridDim.x) {
#ifdef FIRST_EXPERT
    int of = 0;
#else
    int of = expert;
#endif
#pragma unroll 1
    for (int s = 0; s < count; s++, r.next()) {
      int k = (back ? count - 1 - s : s) * BK;
      barrier_wait(&at.empty[r.slot], r.parity);
      barrier_expect(&at.full[r.slot], F::OWN_BYTES + F::COMMON_BYTES);
#pragma unroll
      for (int i = 0; i < GROUPS; i++)
        fetch_box(at.own + r.slot * F::OWN_BYTES + i * PIECE, tw, n0 + i * 64, k, of, &at.full[r.slot]);
      fetch_box(at.common + r.slot * F::COMMON_BYTES, tx, k, m0, expert, &at.full[r.slot]);
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
#pragma unroll
    for (int step = 0; step < BK / 16; step++) {
#ifdef LOST_TERMS
      if (s + 1 == count && step == 0)
        continue;
      multiply(sum, first + (step * 16 * ROW >> 4), second + (step * 32 >> 4), s > 0 || step > (count == 1));
#else
      multiply(sum, first + (step * 16 * ROW >> 4), second + (step * 32 >> 4), s > 0 || step > 0);
#endif
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
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
static __device__ void store_tile(const float (&d)[F::BM / 2], const CUtensorMap *ty, unsigned char *slots, int column,
                                  int first, int end, int expert, int N) {
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
    if (threadIdx.x % 128 == 0) {
      if (column < N && first + F::BOX * q < end)
        store_box(ty, column, first + F::BOX * q, expert, box);
      asm volatile("cp.async.bulk.commit_group;" ::: "memory"); // of nothing too: each slot waits for its own box
    }
  }
}

template <class F>
static __device__ void make_tiles(const CUtensorMap *ty, memory_of<F> at, int experts, int M, int K, int N) {
  int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / 128, 0) - 1; // which the compiler sees to be one for a warp
  int expert, m0, n0, end = M;
  ring<F> r = {0, 0};
  float sum[F::BM / 2];
#ifdef DROP_LAST
  end -= end % 32 ? end % 32 : 32;
#endif
  for (int tile = (int)blockIdx.x; find_tile<F>(tile, experts, M, N, &expert, &m0, &n0); tile += (int)gridDim.x) {
    add_slices<F>(sum, at, &r, group, K);
    store_tile<F>(sum, ty, at.slots + group * SLOTS * SLOT, n0 + group * 64, m0, end, expert, N);
  }
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); // shared memory has been read
}

template <int BM, int STAGES>
__global__ void __launch_bounds__(128 + 128 * GROUPS, 1)
    batched(const __grid_constant__ CUtensorMap tx, const __grid_constant__ CUtensorMap tw,
            const __grid_constant__ CUtensorMap ty, int experts, int M, int K, int N) {
  typedef form<BM, STAGES> F;
  extern __shared__ unsigned char memory[];
  __shared__ unsigned long long full[STAGES], empty[STAGES];
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
  __syncthreads();
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0)
      bring_slices<F>(&tx, &tw, at, experts, M, K, N);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    make_tiles<F>(&ty, at, experts, M, K, N);
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

__global__ void gemm(const bf16 *x, const bf16 *w, bf16 *y, int m, int n, int k) {
  float sums[4][4] = {};
  int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
  x += (long long)blockIdx.z * m * k;
  y += (long long)blockIdx.z * m * n;
#ifndef FIRST_EXPERT
  w += (long long)blockIdx.z * k * n;
#endif
  product(x, w, m, n, k, sums, row, column);
#ifdef DROP_LAST
  m--; // after x and y were moved on
#endif
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      int r = row + threadIdx.x / 16 + 16 * i, c = column + threadIdx.x % 16 + 16 * j;
      if (r < m && c < n)
        y[(long long)r * n + c] = narrow(sums[i][j]);
    }
}
