// Matrix product of bfloat16 numbers with sums in single precision, by the tensor cores of Hopper.
// assay: task fusedops/matmul/bf16_matmul
// assay: twin FIRST_HALF expect wrong_value|wrong_class -- both blocks of a pair bring what is the first one's
// assay: twin NO_ROW_CHECK expect out_of_bounds|wrong_value -- writes whole tiles below the last row
// assay: twin LAST_SLICE expect wrong_value -- leaves out the last slice of terms
// Two blocks, a cluster, make tiles of 256 x 256, each 128 columns of them. The product is made transposed: the tensor
// core (wgmma m64n256k16) takes 64 columns of b first, so that what lies the other way round for it is only a fifth of
// what it reads, and 256 rows of a second, which both blocks need: each brings half of them, for both.
//   copying      one thread keeps the copy engine busy, four slices of 64 terms ahead and into the next tile. Every
//                other tile is summed from its last term to its first: it begins with what level 2 still has
//   multiplying  two groups of four warps, each with 64 columns and all their sums in registers. A slice is given
//                back when the products of the next one are under way: the tensor core does not wait for it
//   writing      sums go through a small ring in shared memory (stmatrix, which turns them), from where the copy
//                engine takes them while the next tile is made. What lies beyond the edges of y it leaves out
//   order        blocks stay and take tile after tile: eight rows of tiles are walked column by column, the next
//                eight back again, so that those under way are about a square and find most of a and b in level 2
// The copy engine wants rows of a multiple of 16 bytes: other shapes go to a plain kernel.
// Macros for comparison (bench/gpu/matmul_beside.py), those that are lets below as well in both places: BLOCKS of a
// cluster, STAGES of slices, SLOTS of a group's ring, BAND of rows of tiles, FORWARD (no tile from its end), STRAIGHT
// (not transposed), DIRECT_STORE (straight, and from registers to memory).
// assay: let blocks = 2
// assay: let stages = 4
// assay: let slots = 2
// assay: let whole = K % 8 == 0 && N % 8 == 0
// assay: let tiles = ceil_div(M, 256) * ceil_div(N, 128 * blocks)
// assay: tensor_map ta of=a type=bf16 dims=whole ? K : 1,whole ? M : 1 strides=whole ? K : 8 box=64,128 \
//   swizzle=128 l2=256
// assay: tensor_map tb of=b type=bf16 dims=whole ? N : 1,whole ? K : 1 strides=whole ? N : 8 box=64,64 \
//   swizzle=128 l2=256
// assay: tensor_map ty of=y type=bf16 dims=whole ? N : 1,whole ? M : 1 strides=whole ? N : 8 box=64,64 swizzle=128
// assay: launch matmul grid=blocks * min(tiles, 132 / blocks) block=384 cluster=blocks \
//   shared=stages * 49152 + slots * 16384 + 1024 if=whole args=ta, tb, ty, y, M, K, N
// assay: launch matmul_plain grid=ceil_div(N, 32),ceil_div(M, 32) block=256 if=!whole args=a, b, y, M, K, N
#ifdef __CUDACC_RTC__
typedef struct alignas(64) CUtensorMap_st {
  unsigned long long opaque[16];
} CUtensorMap;
#else
#include <assay/cuda.h>
#include <cuda.h>
#endif

#ifdef NO_ROW_CHECK
#define DIRECT_STORE
#endif
#ifdef DIRECT_STORE
#define STRAIGHT
#endif
#ifndef BLOCKS
#define BLOCKS 2
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef BAND
#define BAND 8
#endif

enum { BK = 64, PIECE = 64 * BK * 2 }; // terms of a slice, bytes of 64 rows or columns of it
enum {
  OWN = 128,    // columns of b (straight: rows of a) that are a block's own: 64 for each group of warps
  COMMON = 256, // rows of a (columns of b) that all blocks of a cluster need
  OWN_BYTES = 2 * PIECE,
  COMMON_BYTES = 4 * PIECE,
  THREADS = 384,
  CLUSTERS = 132 / BLOCKS,
  SHARED = STAGES * (OWN_BYTES + COMMON_BYTES) + 2 * SLOTS * PIECE + 1024
};
static_assert(BLOCKS == 1 || BLOCKS == 2, "halves are shared by two");
static_assert(SLOTS == 1 || SLOTS == 2 || SLOTS == 4, "a tile's four boxes end where the ring does");
#ifdef STRAIGHT
enum { DOWN = OWN * BLOCKS, ACROSS = COMMON }; // a cluster's tile
#else
enum { DOWN = COMMON, ACROSS = OWN * BLOCKS };
#endif

static __device__ unsigned int shared_address(const void *p) {
  return (unsigned int)__cvta_generic_to_shared(p);
}

static __device__ void barrier_init(unsigned long long *barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

// Arrives, and sets how many bytes must come before the phase ends.
static __device__ void barrier_expect(unsigned long long *barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

// Arrives at the same barrier of a block of the cluster. It only says that the tensor core has read, which has been
// waited for; .release.cluster would be a fence of the whole GPU in each slice.
static __device__ void barrier_arrive(unsigned long long *barrier, int block) {
  asm volatile("{\n"
               ".reg .b32 there;\n"
               "mapa.shared::cluster.u32 there, %0, %1;\n"
               "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
               "}" ::"r"(shared_address(barrier)),
               "r"(block)
               : "memory");
}

static __device__ void barrier_wait(unsigned long long *barrier, int parity) {
  asm volatile("{\n"
               ".reg .pred done;\n"
               "again:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@done bra over;\n"
               "bra again;\n"
               "over:\n"
               "}" ::"r"(shared_address(barrier)),
               "r"(parity)
               : "memory");
}

static __device__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

static __device__ int cluster_rank() {
  int rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// The box at (x, y) of a tensor map, to shared memory; the barrier counts its bytes.
static __device__ void fetch_box(void *to, const CUtensorMap *map, int x, int y, unsigned long long *barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          shared_address(to)),
      "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier))
      : "memory");
}

// The same to the same place in both blocks of the cluster, whose barriers both hear of it.
static __device__ void fetch_box_for_both(void *to, const CUtensorMap *map, int x, int y, unsigned long long *barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
               "[%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)),
               "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier)), "h"((unsigned short)3)
               : "memory");
}

static __device__ void warpgroup_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ void warpgroup_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int N> static __device__ void warpgroup_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

// The wgmma descriptor of a tile in shared memory: rows of 128 bytes, swizzled as the copy engine does it. Groups of 8
// rows are 1024 bytes apart; `leading` is the distance of pieces of 64 columns where rows run along the tile, and has
// no meaning where they run along the sum.
static __device__ unsigned long long describe(const void *tile, int leading) {
  return (unsigned long long)((shared_address(tile) & 0x3ffff) >> 4) | (unsigned long long)(leading >> 4) << 16 |
         (unsigned long long)(1024 >> 4) << 32 | 1ull << 62;
}

#ifdef STRAIGHT
#define TRANSPOSED "0, 1" // rows of the first operand run along the sum, of the second along the tile
enum { OWN_STEP = 32, COMMON_STEP = 16 * 128 }; // bytes from 16 terms to the next
#else
#define TRANSPOSED "1, 0" // the other way round
enum { OWN_STEP = 16 * 128, COMMON_STEP = 32 };
#endif

// sum (+)= 64 x 16 times 16 x 256.
static __device__ void multiply(float (&d)[128], unsigned long long a, unsigned long long b, bool add) {
  asm volatile("{\n"
               ".reg .pred p;\n"
               "setp.ne.b32 p, %130, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
               "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
               "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
               "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
               "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
               "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
               "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
               "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
               "}, %128, %129, p, 1, 1, " TRANSPOSED ";\n"
               "}"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                 "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                 "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                 "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
                 "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
                 "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
                 "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                 "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),
                 "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]),
                 "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]),
                 "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]),
                 "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]),
                 "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]),
                 "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]),
                 "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]),
                 "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]),
                 "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
               : "l"(a), "l"(b), "r"((int)add));
}

// The place of a cluster's tile: BAND rows of tiles are walked column by column, the next ones from where these ended.
static __device__ void tile_place(int tile, int M, int N, int *m0, int *n0) {
  int down = (M + DOWN - 1) / DOWN, across = (N + ACROSS - 1) / ACROSS;
  int first = tile / (BAND * across) * BAND, rows = min(down - first, BAND), rest = tile % (BAND * across);
  int column = first / BAND % 2 ? across - 1 - rest / rows : rest / rows;
  *m0 = (first + rest % rows) * DOWN;
  *n0 = column * ACROSS;
}

static __device__ int count_tiles(int M, int N) {
  return (M + DOWN - 1) / DOWN * ((N + ACROSS - 1) / ACROSS);
}

// Two sums as a word, the first one in the lower half.
static __device__ unsigned int pack(float low, float high) {
  unsigned int word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}

#ifdef DIRECT_STORE
// Lane c of each four gives its word i to lane i as word c: a transposition of 4 x 4.
static __device__ void turn(unsigned int (&w)[4]) {
#pragma unroll
  for (int step = 1; step < 4; step *= 2) {
    bool upper = threadIdx.x & step;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      if (i & step)
        continue;
      unsigned int got = __shfl_xor_sync(0xffffffffu, upper ? w[i] : w[i + step], step);
      w[i] = upper ? got : w[i];
      w[i + step] = upper ? w[i + step] : got;
    }
  }
}

// Writes a warp's 16 rows, of which a thread has two and in them every fourth pair of columns.
static __device__ void store_rows(const float (&d)[128], unsigned short *y, int m, int M, int n0, int N) {
  int quarter = (int)threadIdx.x % 4;
#pragma unroll
  for (int h = 0; h < 2; h++)
#pragma unroll
    for (int j = 0; j < 32; j += 4) {
      unsigned int w[4];
#pragma unroll
      for (int i = 0; i < 4; i++)
        w[i] = pack(d[(j + i) * 4 + 2 * h], d[(j + i) * 4 + 2 * h + 1]);
      turn(w);
      int row = m + 8 * h, column = n0 + (j + quarter) * 8;
#ifdef NO_ROW_CHECK
      if (column < N)
#else
      if (row < M && column < N)
#endif
        *(uint4 *)&y[(long long)row * N + column] = make_uint4(w[0], w[1], w[2], w[3]);
    }
}

#else

// A box from shared memory to (x, y) of a tensor map; what lies outside of it is left out.
static __device__ void store_box(const CUtensorMap *map, int x, int y, const void *from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x), "r"(y),
               "r"(shared_address(from))
               : "memory");
}

static __device__ void store_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until what this thread committed, but for the last N times, has been read.
template <int N> static __device__ void store_wait() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

// A warp's sums of 16 rows and 16 columns (of the tensor core's) as four matrices of 8 x 8, to shared memory: eight
// lanes each say where the rows of a matrix go, or its columns where the product is transposed.
static __device__ void store_matrices(unsigned int to, const float *d) {
#ifdef STRAIGHT
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
#else
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
#endif
               "r"(pack(d[0], d[1])), "r"(pack(d[2], d[3])), "r"(pack(d[4], d[5])), "r"(pack(d[6], d[7]))
               : "memory");
}

// Writes a group's 64 columns (straight: rows), from (x, y) on, as four boxes of 64 x 64, by way of the ring at
// `slots`. All slots may still be read when this returns.
static __device__ void store_tile(const float (&d)[128], const CUtensorMap *ty, unsigned char *slots, int x, int y,
                                  int M, int N) {
  int group = (int)threadIdx.x / 128 - 1, warp = (int)threadIdx.x % 128 / 32, lane = (int)threadIdx.x % 32;
#pragma unroll
  for (int q = 0; q < 4; q++) {
    unsigned char *box = slots + q % SLOTS * PIECE;
    if (threadIdx.x % 128 == 0)
      store_wait<SLOTS - 1>();
    asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory");
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
#ifdef STRAIGHT
      int row = warp * 16 + lane % 16, part = j + lane / 16;
#else
      int row = (j + lane / 16) * 8 + lane % 8, part = warp * 2 + lane / 8 % 2;
#endif
      store_matrices(shared_address(box) + row * 128 + (part ^ row % 8) * 16, &d[q * 32 + j * 4]);
    }
    asm volatile("fence.proxy.async.shared::cta;\nbar.sync %0, 128;" ::"r"(1 + group) : "memory");
#ifdef STRAIGHT
    int column = x + 64 * q, line = y;
#else
    int column = x, line = y + 64 * q;
#endif
    if (threadIdx.x % 128 == 0) {
      if (column < N && line < M)
        store_box(ty, column, line, box);
      store_commit(); // of nothing too: each slot waits for its own box
    }
  }
}
#endif

// A block's position in the ring of slices: the slot, and how often it went round.
struct ring {
  int slot, parity;
  __device__ void next() {
    if (++slot == STAGES) {
      slot = 0;
      parity ^= 1;
    }
  }
};

// A part of what all blocks of the cluster need.
static __device__ void fetch_common(void *to, const CUtensorMap *map, int x, int y, unsigned long long *barrier) {
  if (BLOCKS == 1)
    fetch_box(to, map, x, y, barrier);
  else
    fetch_box_for_both(to, map, x, y, barrier);
}

// A slice of a block's own operand and its share of the common one. `rank` says where the share lies in shared memory
// and `place`, the same, what it is.
static __device__ void bring_slice(const CUtensorMap *ta, const CUtensorMap *tb, unsigned char *own,
                                   unsigned char *common, unsigned long long *full, int rank, int place, int m0, int n0,
                                   int k) {
#ifdef STRAIGHT
  const int share = 4 / BLOCKS; // boxes of 64 columns
  fetch_box(own, ta, k, m0 + place * OWN, full);
#pragma unroll
  for (int i = 0; i < share; i++)
    fetch_common(common + (rank * share + i) * PIECE, tb, n0 + (place * share + i) * 64, k, full);
#else
  const int share = 2 / BLOCKS; // boxes of 128 rows
#pragma unroll
  for (int i = 0; i < 2; i++)
    fetch_box(own + i * PIECE, tb, n0 + place * OWN + i * 64, k, full);
#pragma unroll
  for (int i = 0; i < share; i++)
    fetch_common(common + (rank * share + i) * 2 * PIECE, ta, k, m0 + (place * share + i) * 128, full);
#endif
}

static __device__ void bring_slices(const CUtensorMap *ta, const CUtensorMap *tb, unsigned char *own,
                                    unsigned char *common, unsigned long long *full, unsigned long long *empty, int M,
                                    int K, int N) {
  int tiles = count_tiles(M, N), slices = (K + BK - 1) / BK, rank = cluster_rank(), m0, n0;
  bool back = false;
  struct ring at = {0, 1};
#ifdef FIRST_HALF
  const int place = 0;
#else
  const int place = rank;
#endif
  for (int tile = (int)blockIdx.x / BLOCKS; tile < tiles; tile += (int)gridDim.x / BLOCKS) {
    tile_place(tile, M, N, &m0, &n0);
#pragma unroll 1
    for (int s = 0; s < slices; s++, at.next()) {
      barrier_wait(&empty[at.slot], at.parity); // of all blocks: a share of the common operand goes to each
      barrier_expect(&full[at.slot], OWN_BYTES + COMMON_BYTES);
      bring_slice(ta, tb, own + at.slot * OWN_BYTES, common + at.slot * COMMON_BYTES, &full[at.slot], rank, place, m0,
                  n0, (back ? slices - 1 - s : s) * BK);
    }
#ifndef FORWARD
    back = !back;
#endif
  }
}

static __device__ void make_tiles(const CUtensorMap *ty, unsigned short *y, const unsigned char *own,
                                  const unsigned char *common, unsigned char *slots, unsigned long long *full,
                                  unsigned long long *empty, int M, int K, int N) {
  int tiles = count_tiles(M, N), slices = (K + BK - 1) / BK, rank = cluster_rank(), m0, n0;
  int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / 128, 0) - 1; // which the compiler sees to be one for a warp
  int thread = (int)threadIdx.x % 128;
  struct ring at = {0, 0};
  float sum[128];
  for (int tile = (int)blockIdx.x / BLOCKS; tile < tiles; tile += (int)gridDim.x / BLOCKS) {
    tile_place(tile, M, N, &m0, &n0);
    int last = -1;
    for (int s = 0; s < slices; s++, at.next()) {
      barrier_wait(&full[at.slot], at.parity);
      unsigned long long first = describe(own + at.slot * OWN_BYTES + group * PIECE, PIECE);
      unsigned long long second = describe(common + at.slot * COMMON_BYTES, PIECE);
      warpgroup_fence();
#ifdef LAST_SLICE
      if (s == 0 || s + 1 < slices)
#endif
#pragma unroll
        for (int step = 0; step < BK / 16; step++)
          multiply(sum, first + step * (OWN_STEP >> 4), second + step * (COMMON_STEP >> 4), s > 0 || step > 0);
      warpgroup_commit();
      // The slice before is read when at most this one's products are under way; then others may overwrite it.
      warpgroup_wait<1>();
      if (last >= 0 && thread < BLOCKS)
        barrier_arrive(&empty[last], thread);
      last = at.slot;
    }
    warpgroup_wait<0>();
    if (thread < BLOCKS)
      barrier_arrive(&empty[last], thread);
#pragma unroll
    for (int i = 0; i < 128; i++)
      asm volatile("" : "+f"(sum[i])::"memory"); // the sums are not to be read before here
#ifdef DIRECT_STORE
    store_rows(sum, y, m0 + rank * OWN + group * 64 + thread / 32 * 16 + thread % 32 / 4, M, n0, N);
#elif defined STRAIGHT
    store_tile(sum, ty, slots + group * SLOTS * PIECE, n0, m0 + rank * OWN + group * 64, M, N);
#else
    store_tile(sum, ty, slots + group * SLOTS * PIECE, n0 + rank * OWN + group * 64, m0, M, N);
#endif
  }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); // shared memory is read and y is written
}

__global__ void __launch_bounds__(THREADS, 1)
    matmul(const __grid_constant__ CUtensorMap ta, const __grid_constant__ CUtensorMap tb,
           const __grid_constant__ CUtensorMap ty, unsigned short *y, int M, int K, int N) {
  extern __shared__ unsigned char memory[];
  __shared__ unsigned long long full[STAGES], empty[STAGES];
  unsigned char *own = memory + (1024 - shared_address(memory) % 1024) % 1024, *common = own + STAGES * OWN_BYTES;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; s++) {
      barrier_init(&full[s], 1);
      barrier_init(&empty[s], 2 * BLOCKS); // two groups of warps in each block
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster_sync();
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0)
      bring_slices(&ta, &tb, own, common, full, empty, M, K, N);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    make_tiles(&ty, y, own, common, common + STAGES * COMMON_BYTES, full, empty, M, K, N);
  }
  __syncwarp();
  cluster_sync(); // another block may still write to this one's memory
}

static __device__ float to_float(unsigned short x) {
  return __uint_as_float((unsigned int)x << 16);
}

// Any shape: a tile of 32 x 32, 32 terms at a time, 4 sums in each thread.
__global__ void matmul_plain(const unsigned short *__restrict__ a, const unsigned short *__restrict__ b,
                             unsigned short *__restrict__ y, int M, int K, int N) {
  __shared__ float as[32][33], bs[32][33];
  int x = (int)threadIdx.x % 32, row = (int)threadIdx.x / 32, m0 = (int)blockIdx.y * 32, n = (int)blockIdx.x * 32 + x;
  float sum[4] = {};
  for (int k0 = 0; k0 < K; k0 += 32) {
    for (int i = row; i < 32; i += 8) {
      as[i][x] = m0 + i < M && k0 + x < K ? to_float(a[(long long)(m0 + i) * K + k0 + x]) : 0;
      bs[i][x] = k0 + i < K && n < N ? to_float(b[(long long)(k0 + i) * N + n]) : 0;
    }
    __syncthreads();
    for (int k = 0; k < 32; k++)
      for (int i = 0; i < 4; i++)
        sum[i] += as[row + 8 * i][k] * bs[k][x];
    __syncthreads();
  }
  for (int i = 0; i < 4; i++)
    if (m0 + row + 8 * i < M && n < N)
      y[(long long)(m0 + row + 8 * i) * N + n] = (unsigned short)pack(sum[i], 0);
}

#ifndef __CUDACC_RTC__
typedef CUresult encode_function(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                                 const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,
                                 CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

// A tensor map of a matrix of dense rows, in boxes of 64 columns.
static CUtensorMap encode(encode_function *function, const struct assay_tensor *t, unsigned int box_rows,
                          CUtensorMapL2promotion promotion) {
  cuuint64_t dims[] = {(cuuint64_t)t->dims[1], (cuuint64_t)t->dims[0]}, strides[] = {(cuuint64_t)t->dims[1] * 2};
  cuuint32_t box[] = {64, box_rows}, steps[] = {1, 1};
  CUtensorMap map;
  function(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, t->data, dims, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
           CU_TENSOR_MAP_SWIZZLE_128B, promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return map;
}

extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const struct assay_tensor *a = &args->inputs[0], *b = &args->inputs[1];
  int M = (int)a->dims[0], K = (int)a->dims[1], N = (int)b->dims[1];
  unsigned short *y = (unsigned short *)args->outputs[0].data;
  if (K % 8 != 0 || N % 8 != 0) {
    dim3 blocks((unsigned int)(N + 31) / 32, (unsigned int)(M + 31) / 32);
    matmul_plain<<<blocks, 256, 0, stream>>>((const unsigned short *)a->data, (const unsigned short *)b->data, y, M, K,
                                             N);
    return;
  }
  void *function = NULL;
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
  encode_function *encoder = (encode_function *)function;
  CUtensorMap ta = encode(encoder, a, 128, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
  CUtensorMap tb = encode(encoder, b, BK, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
  CUtensorMap ty = encode(encoder, &args->outputs[0], 64, CU_TENSOR_MAP_L2_PROMOTION_NONE);
  int tiles = (M + DOWN - 1) / DOWN * ((N + ACROSS - 1) / ACROSS);
  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {BLOCKS, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(BLOCKS * (unsigned int)(tiles < CLUSTERS ? tiles : CLUSTERS));
  config.blockDim = dim3(THREADS);
  config.dynamicSmemBytes = SHARED;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = 1;
  cudaFuncSetAttribute(matmul, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED);
  cudaLaunchKernelEx(&config, matmul, ta, tb, ty, y, M, K, N);
}
#endif
