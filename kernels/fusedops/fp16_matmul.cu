// Matrix product of float16 numbers with sums in single precision, by the tensor cores of Hopper. Which tile is best
// depends on the shape: how well tiles fill the 132 multiprocessors counts for more than how good a tile is by itself.
// assay: task fusedops/matmul/fp16_matmul
// assay: twin LAST_TILE expect unwritten|wrong_value -- does not make the last tile
// assay: twin LAST_SLICE expect wrong_value|low_precision -- leaves out the last slice of terms
// assay: twin HALF_SUMS expect wrong_value|low_precision -- rounds the sums to fp16 after each slice
// The product is made transposed: the tensor core (wgmma m64nXk16) takes 64 columns of b first and up to 256 rows of a
// second, so that a tile may have any multiple of 16 rows.
//   copying      one thread keeps the copy engine busy, some slices of 64 terms ahead and into the next tile. Every
//                other tile is summed from its last term to its first: it begins with what level 2 still has
//   multiplying  groups of four warps, each with 64 columns and all their sums in registers. A slice is given back when
//                the products of the next one are under way: the tensor core does not wait for it
//   writing      sums go through a small ring in shared memory (stmatrix, which turns them), from where the copy engine
//                takes them while the next tile is made. What lies beyond the edges of y it leaves out
//   order        blocks stay and take tile after tile: eight rows of tiles are walked column by column, the next eight
//                back again, so that those under way are about a square and find most of a and b in level 2
//   form         what a form takes is about a launch, and for each round of tiles a time for each slice and one for the
//                end (ns0, ns1, ...: fitted to times of the thirty published shapes on an H200)
// The copy engine wants rows of a multiple of 16 bytes: other shapes go to a plain kernel.
// FORM: the form that is thought to be fastest (0), or one of them whatever the shape.
// assay: tune FORM 0,1,2,3,4,5,6,7,8,9,10
// assay: constraint FORM == 0 || K % 8 == 0 && N % 8 == 0
// assay: let whole = K % 8 == 0 && N % 8 == 0
// assay: let tiles0 = ceil_div(M, 64) * ceil_div(N, 64)
// assay: let ns0 = 3255 + ceil_div(tiles0, 132) * (154 * ceil_div(K, 64) + 326)
// assay: let tiles1 = ceil_div(M, 64) * ceil_div(N, 128)
// assay: let ns1 = 3999 + ceil_div(tiles1, 132) * max(225 * ceil_div(K, 64) - 450, 112 * ceil_div(K, 64))
// assay: let tiles2 = ceil_div(M, 96) * ceil_div(N, 128)
// assay: let ns2 = 4965 + ceil_div(tiles2, 132) * max(305 * ceil_div(K, 64) - 1466, 152 * ceil_div(K, 64))
// assay: let tiles3 = ceil_div(M, 128) * ceil_div(N, 128)
// assay: let ns3 = 5522 + ceil_div(tiles3, 132) * max(385 * ceil_div(K, 64) - 2050, 192 * ceil_div(K, 64))
// assay: let tiles4 = ceil_div(M, 144) * ceil_div(N, 128)
// assay: let ns4 = 4969 + ceil_div(tiles4, 132) * max(414 * ceil_div(K, 64) - 835, 207 * ceil_div(K, 64))
// assay: let tiles5 = ceil_div(M, 160) * ceil_div(N, 128)
// assay: let ns5 = 5977 + ceil_div(tiles5, 132) * max(469 * ceil_div(K, 64) - 2378, 234 * ceil_div(K, 64))
// assay: let tiles6 = ceil_div(M, 176) * ceil_div(N, 128)
// assay: let ns6 = 4568 + ceil_div(tiles6, 132) * max(484 * ceil_div(K, 64) - 85, 242 * ceil_div(K, 64))
// assay: let tiles7 = ceil_div(M, 208) * ceil_div(N, 128)
// assay: let ns7 = 4645 + ceil_div(tiles7, 132) * max(565 * ceil_div(K, 64) - 114, 282 * ceil_div(K, 64))
// assay: let tiles8 = ceil_div(M, 224) * ceil_div(N, 128)
// assay: let ns8 = 4088 + ceil_div(tiles8, 132) * max(595 * ceil_div(K, 64) - 98, 297 * ceil_div(K, 64))
// assay: let tiles9 = ceil_div(M, 240) * ceil_div(N, 256)
// assay: let ns9 = 4269 + ceil_div(tiles9, 66) * (614 * ceil_div(K, 64) + 1711)
// assay: let least = min(ns0, ns1, ns2, ns3, ns4, ns5, ns6, ns7, ns8, ns9)
// assay: let guess = ns0 == least ? 0 : ns1 == least ? 1 : ns2 == least ? 2 : ns3 == least ? 3 : \
//   ns4 == least ? 4 : ns5 == least ? 5 : ns6 == least ? 6 : ns7 == least ? 7 : ns8 == least ? 8 : 9
// assay: let form = FORM > 0 ? FORM - 1 : guess
// assay: let height = form == 0 ? 64 : form == 1 ? 64 : form == 2 ? 96 : form == 3 ? 128 : form == 4 ? 144 : \
//   form == 5 ? 160 : form == 6 ? 176 : form == 7 ? 208 : form == 8 ? 224 : 120
// assay: let rows = form == 4 || form == 6 || form == 7 || form == 9 ? 16 : 32
// assay: tensor_map ta of=a type=half dims=whole ? K : 1,whole ? M : 1 strides=whole ? K : 8 \
//   box=64,height swizzle=128 l2=256
// assay: tensor_map tb of=b type=half dims=whole ? N : 1,whole ? K : 1 strides=whole ? N : 8 \
//   box=64,64 swizzle=128 l2=256
// assay: tensor_map ty of=y type=half dims=whole ? N : 1,whole ? M : 1 strides=whole ? N : 8 box=64,rows swizzle=128
// assay: launch matmul<64, 1, 1, 1, 8> grid=min(tiles0, 132) block=256 shared=148480 if=whole && form == 0 \
//   args=ta, tb, ty, M, K, N
// assay: launch matmul<64, 2, 1, 1, 8> grid=min(tiles1, 132) block=384 shared=230400 if=whole && form == 1 \
//   args=ta, tb, ty, M, K, N
// assay: launch matmul<96, 2, 1, 1, 6> grid=min(tiles2, 132) block=384 shared=205824 if=whole && form == 2 \
//   args=ta, tb, ty, M, K, N
// assay: launch matmul<128, 2, 1, 1, 6> grid=min(tiles3, 132) block=384 shared=230400 if=whole && form == 3 \
//   args=ta, tb, ty, M, K, N
// assay: launch matmul<144, 2, 1, 1, 5> grid=min(tiles4, 132) block=384 shared=207872 if=whole && form == 4 \
//   args=ta, tb, ty, M, K, N
// assay: launch matmul<160, 2, 1, 1, 5> grid=min(tiles5, 132) block=384 shared=218112 if=whole && form == 5 \
//   args=ta, tb, ty, M, K, N
// assay: launch matmul<176, 2, 1, 1, 5> grid=min(tiles6, 132) block=384 shared=228352 if=whole && form == 6 \
//   args=ta, tb, ty, M, K, N
// assay: launch matmul<208, 2, 1, 1, 4> grid=min(tiles7, 132) block=384 shared=205824 if=whole && form == 7 \
//   args=ta, tb, ty, M, K, N
// assay: launch matmul<224, 2, 1, 1, 4> grid=min(tiles8, 132) block=384 shared=214016 if=whole && form == 8 \
//   args=ta, tb, ty, M, K, N
// assay: launch matmul<240, 2, 2, 1, 4> grid=2 * min(tiles9, \
//   66) block=384 cluster=2 shared=222208 if=whole && form == 9 args=ta, tb, ty, M, K, N
// assay: launch matmul_plain grid=ceil_div(N, 32),ceil_div(M, 32) block=256 if=!whole args=a, b, y, M, K, N
struct alignas(64) CUtensorMap {
  unsigned long long opaque[16];
};

enum { BK = 64, PIECE = 64 * BK * 2, ROW = BK * 2 }; // terms of a slice; bytes of 64 columns of b, of a row of a in it
enum { BAND = 8, SLOTS = 4, SLOT = 32 * ROW }; // rows of tiles in a band; places for boxes of y, of 32 rows at most

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

// Arrives at the same barrier of a block of the cluster. It only says that the tensor core has read, which has been
// waited for; .release.cluster would be a fence of the whole GPU in each slice.
static __device__ void barrier_arrive(unsigned long long *barrier, int block) {
  asm volatile("{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
               "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(shared_address(barrier)),
               "r"(block)
               : "memory");
}

static __device__ void barrier_wait(unsigned long long *barrier, int parity) {
  asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@done bra over;\nbra again;\nover:\n}" ::"r"(shared_address(barrier)),
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

// The same to the same place in both blocks of the cluster, whose barriers both hear of it.
static __device__ void fetch_box_for_both(void *to, const CUtensorMap *map, int x, int y, unsigned long long *barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
               "[%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)),
               "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier)), "h"((unsigned short)3)
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
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.f16.f16 {" names "}, %" a_name ", %" b_name           \
                 ", p, 1, 1, 1, 0;\n}"                                                                                 \
                 : __VA_ARGS__                                                                                         \
                 : "l"(a), "l"(b), "r"((int)add));                                                                     \
  }
MULTIPLY(64, N0 ", " N1 ", " N2 ", " N3, "32", "33", "34", C8(0), C8(1), C8(2), C8(3))
MULTIPLY(96, N0 ", " N1 ", " N2 ", " N3 ", " N4 ", " N5, "48", "49", "50", C8(0), C8(1), C8(2), C8(3), C8(4), C8(5))
MULTIPLY(128, N0 ", " N1 ", " N2 ", " N3 ", " N4 ", " N5 ", " N6 ", " N7, "64", "65", "66", C8(0), C8(1), C8(2), C8(3),
         C8(4), C8(5), C8(6), C8(7))
MULTIPLY(144, N0 ", " N1 ", " N2 ", " N3 ", " N4 ", " N5 ", " N6 ", " N7 ", " N8, "72", "73", "74", C8(0), C8(1), C8(2),
         C8(3), C8(4), C8(5), C8(6), C8(7), C8(8))
MULTIPLY(160, N0 ", " N1 ", " N2 ", " N3 ", " N4 ", " N5 ", " N6 ", " N7 ", " N8 ", " N9, "80", "81", "82", C8(0),
         C8(1), C8(2), C8(3), C8(4), C8(5), C8(6), C8(7), C8(8), C8(9))
MULTIPLY(176, N0 ", " N1 ", " N2 ", " N3 ", " N4 ", " N5 ", " N6 ", " N7 ", " N8 ", " N9 ", " N10, "88", "89", "90",
         C8(0), C8(1), C8(2), C8(3), C8(4), C8(5), C8(6), C8(7), C8(8), C8(9), C8(10))
MULTIPLY(208, N0 ", " N1 ", " N2 ", " N3 ", " N4 ", " N5 ", " N6 ", " N7 ", " N8 ", " N9 ", " N10 ", " N11 ", " N12,
         "104", "105", "106", C8(0), C8(1), C8(2), C8(3), C8(4), C8(5), C8(6), C8(7), C8(8), C8(9), C8(10), C8(11),
         C8(12))
MULTIPLY(224,
         N0 ", " N1 ", " N2 ", " N3 ", " N4 ", " N5 ", " N6 ", " N7 ", " N8 ", " N9 ", " N10 ", " N11 ", " N12 ", " N13,
         "112", "113", "114", C8(0), C8(1), C8(2), C8(3), C8(4), C8(5), C8(6), C8(7), C8(8), C8(9), C8(10), C8(11),
         C8(12), C8(13))
MULTIPLY(240,
         N0 ", " N1 ", " N2 ", " N3 ", " N4 ", " N5 ", " N6 ", " N7 ", " N8 ", " N9 ", " N10 ", " N11 ", " N12 ", " N13
            ", " N14,
         "120", "121", "122", C8(0), C8(1), C8(2), C8(3), C8(4), C8(5), C8(6), C8(7), C8(8), C8(9), C8(10), C8(11),
         C8(12), C8(13), C8(14))

// Two sums as a word, the first one in the lower half.
static __device__ unsigned pack(float low, float high) {
  unsigned word;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}

static __device__ float to_float(unsigned short x) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x));
  return f;
}

// A warp's sums of 16 columns of y and 16 rows, to shared memory: eight lanes each say where the columns of a matrix of
// 8 x 8 go.
static __device__ void store_matrices(unsigned to, const float *d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
               "r"(pack(d[0], d[1])), "r"(pack(d[2], d[3])), "r"(pack(d[4], d[5])), "r"(pack(d[6], d[7]))
               : "memory");
}

// Tiles of BM rows of y and 64 columns for each of GROUPS groups of warps. SHARE blocks of a cluster lie side by side
// and share their rows of a; or SPLIT blocks share a tile, each with a part of the terms.
template <int BM_, int GROUPS_, int SHARE_, int SPLIT_, int STAGES_> struct form {
  enum {
    BM = BM_,
    GROUPS = GROUPS_,
    SHARE = SHARE_,
    SPLIT = SPLIT_,
    STAGES = STAGES_,
    CLUSTER = SHARE * SPLIT,
    ACROSS = 64 * GROUPS * SHARE, // columns of a cluster's tile
    OWN_BYTES = GROUPS * PIECE,   // of b, which is a block's own
    COMMON_BYTES = BM * ROW,      // of a
    THREADS = 128 + 128 * GROUPS,
    SHARED = STAGES * (OWN_BYTES + COMMON_BYTES) + GROUPS * SLOTS * SLOT + 1024,
    DONE = BM / SPLIT, // rows of a tile that a block finishes
    BOX = DONE % 32 == 0 ? 32 : 16
  };
  static_assert(SHARE == 1 || SPLIT == 1, "one or the other");
  static_assert(DONE % BOX == 0, "whole boxes");
  static_assert(STAGES * (OWN_BYTES + COMMON_BYTES) >= GROUPS * 64 * BM * 4 || SPLIT == 1,
                "sums are handed over there");
};

// The place of a cluster's tile: BAND rows of tiles are walked column by column, the next ones from where these ended.
template <class F> static __device__ void tile_place(int tile, int M, int N, int *m0, int *n0) {
  int down = (M + F::BM - 1) / F::BM, across = (N + F::ACROSS - 1) / F::ACROSS;
  int first = tile / (BAND * across) * BAND, rows = min(down - first, (int)BAND), rest = tile % (BAND * across);
  int column = first / BAND % 2 ? across - 1 - rest / rows : rest / rows;
  *m0 = (first + rest % rows) * F::BM;
  *n0 = column * F::ACROSS;
}

template <class F> static __device__ int count_tiles(int M, int N) {
  int tiles = (M + F::BM - 1) / F::BM * ((N + F::ACROSS - 1) / F::ACROSS);
#ifdef LAST_TILE
  tiles = max(tiles - 1, 1);
#endif
  return tiles;
}

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

// A block's part of the slices of a tile.
struct terms {
  int first, count;
};

template <class F> static __device__ terms terms_of(int K, int rank) {
  int slices = (K + BK - 1) / BK, part = (slices + F::SPLIT - 1) / F::SPLIT, first = F::SPLIT > 1 ? rank * part : 0;
  return {first, max(min(part, slices - first), 0)};
}

// The shared memory of a block: slices of b and a, boxes of y, and the barriers of the ring.
template <class F> struct memory_of {
  unsigned char *own, *common, *slots;
  unsigned long long *full, *empty;
};

template <class F>
static __device__ void bring_slices(const CUtensorMap *ta, const CUtensorMap *tb, memory_of<F> at, int M, int K,
                                    int N) {
  int tiles = count_tiles<F>(M, N), rank = cluster_rank(), m0, n0;
  terms mine = terms_of<F>(K, rank);
  int side = F::SHARE > 1 ? rank : 0;
  bool back = false;
  ring<F> r = {0, 1};
  for (int tile = (int)blockIdx.x / F::CLUSTER; tile < tiles; tile += (int)gridDim.x / F::CLUSTER) {
    tile_place<F>(tile, M, N, &m0, &n0);
#pragma unroll 1
    for (int s = 0; s < mine.count; s++, r.next()) {
      int k = (mine.first + (back ? mine.count - 1 - s : s)) * BK;
      barrier_wait(&at.empty[r.slot], r.parity); // of all blocks: a share of the common operand goes to each
      barrier_expect(&at.full[r.slot], F::OWN_BYTES + F::COMMON_BYTES);
#pragma unroll
      for (int i = 0; i < F::GROUPS; i++)
        fetch_box(at.own + r.slot * F::OWN_BYTES + i * PIECE, tb, n0 + (side * F::GROUPS + i) * 64, k,
                  &at.full[r.slot]);
      unsigned char *common = at.common + r.slot * F::COMMON_BYTES;
      if (F::SHARE == 1)
        fetch_box(common, ta, k, m0, &at.full[r.slot]);
      else
        fetch_box_for_both(common + side * F::COMMON_BYTES / 2, ta, k, m0 + side * F::BM / 2, &at.full[r.slot]);
    }
    back = !back;
  }
}

// Adds the slices of a tile.
template <class F>
static __device__ void add_slices(float (&sum)[F::BM / 2], memory_of<F> at, ring<F> *r, int group, int count) {
  int thread = (int)threadIdx.x % 128, last = -1;
  if (F::SPLIT > 1 && count == 0)
#pragma unroll
    for (int i = 0; i < F::BM / 2; i++)
      sum[i] = 0;
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
      sum[i] = to_float((unsigned short)pack(sum[i], 0));
    }
#endif
    // The slice before is read when at most this one's products are under way; then others may overwrite it.
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    if (last >= 0 && thread < F::SHARE)
      barrier_arrive(&at.empty[last], F::SHARE > 1 ? thread : cluster_rank());
    last = r->slot;
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  if (last >= 0 && thread < F::SHARE)
    barrier_arrive(&at.empty[last], F::SHARE > 1 ? thread : cluster_rank());
#pragma unroll
  for (int i = 0; i < F::BM / 2; i++)
    asm volatile("" : "+f"(sum[i])::"memory"); // the sums are not to be read before here
}

// Writes a group's 64 columns of y from x on, of ROWS rows from y on, by way of the group's slots. All slots may still
// be read when this returns.
template <class F, int FIRST>
static __device__ void store_tile(const float (&d)[F::BM / 2], const CUtensorMap *ty, unsigned char *slots, int x,
                                  int y, int M, int N) {
  int group = (int)threadIdx.x / 128 - 1, warp = (int)threadIdx.x % 128 / 32, lane = (int)threadIdx.x % 32;
#pragma unroll
  for (int q = 0; q < F::DONE / F::BOX; q++) {
    unsigned char *box = slots + q % SLOTS * SLOT;
    // Each slot waits for the box before in it. Where a tile's boxes do not end with the last slot, that is another
    // number of boxes ago for the next tile, which waits for all.
    if (threadIdx.x % 128 == 0 && q == 0 && F::DONE / F::BOX % SLOTS != 0)
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    else if (threadIdx.x % 128 == 0)
      asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(SLOTS - 1) : "memory");
    asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory");
#pragma unroll
    for (int j = 0; j < F::BOX / 8; j += 2) {
      int row = (j + lane / 16) * 8 + lane % 8, part = warp * 2 + lane / 8 % 2;
      store_matrices(shared_address(box) + row * ROW + (part ^ row % 8) * 16, &d[FIRST / 2 + q * F::BOX / 2 + j * 4]);
    }
    asm volatile("fence.proxy.async.shared::cta;\nbar.sync %0, 128;" ::"r"(1 + group) : "memory");
    if (threadIdx.x % 128 == 0) {
      if (x < N && y + FIRST + F::BOX * q < M)
        store_box(ty, x, y + FIRST + F::BOX * q, box);
      asm volatile("cp.async.bulk.commit_group;" ::: "memory"); // of nothing too: each slot waits for its own box
    }
  }
}

// Blocks that share a tile give each other their sums of the rows that the other one finishes, in what was the ring of
// slices: a block writes all that is not its own, and reads from the others what is.
template <class F, int PART> static __device__ void collect(float (&sum)[F::BM / 2], unsigned char *memory) {
  enum { MINE = F::BM / 2 / F::SPLIT };
  int thread = (int)threadIdx.x - 128;
  float *mine = (float *)memory;
  asm volatile("bar.sync 7, %0;" ::"n"(128 * F::GROUPS) : "memory"); // the other groups may still multiply
#pragma unroll
  for (int i = 0; i < F::BM / 2; i++)
    if (i / MINE != PART)
      mine[i * 128 * F::GROUPS + thread] = sum[i];
  cluster_sync();
#pragma unroll
  for (int other = 0; other < F::SPLIT; other++)
    if (other != PART) {
      unsigned there;
      asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                   : "=r"(there)
                   : "r"(shared_address(mine + thread)), "r"(other));
#pragma unroll
      for (int i = PART * MINE; i < PART * MINE + MINE; i++) {
        float value;
        asm volatile("ld.shared::cluster.f32 %0, [%1];"
                     : "=f"(value)
                     : "r"(there + i * 128 * F::GROUPS * 4)
                     : "memory");
        sum[i] += value;
      }
    }
}

template <class F, int PART>
static __device__ void finish(float (&sum)[F::BM / 2], const CUtensorMap *ty, memory_of<F> at, int group, int x, int y,
                              int M, int N) {
  if (F::SPLIT > 1)
    collect<F, PART>(sum, at.own);

  store_tile<F, PART * F::DONE>(sum, ty, at.slots + group * SLOTS * SLOT, x, y, M, N);
}

template <class F> static __device__ void make_tiles(const CUtensorMap *ty, memory_of<F> at, int M, int K, int N) {
  int tiles = count_tiles<F>(M, N), rank = cluster_rank(), m0, n0;
  terms mine = terms_of<F>(K, rank);
  int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / 128, 0) - 1; // which the compiler sees to be one for a warp
  ring<F> r = {0, 0};
  float sum[F::BM / 2];
  for (int tile = (int)blockIdx.x / F::CLUSTER; tile < tiles; tile += (int)gridDim.x / F::CLUSTER) {
    tile_place<F>(tile, M, N, &m0, &n0);
    int x = n0 + ((F::SHARE > 1 ? rank * F::GROUPS : 0) + group) * 64;
    add_slices<F>(sum, at, &r, group, mine.count);
    if (F::SPLIT == 1 || rank == 0)
      finish<F, 0>(sum, ty, at, group, x, m0, M, N);
    else if (F::SPLIT == 2 || rank == 1)
      finish<F, 1 % F::SPLIT>(sum, ty, at, group, x, m0, M, N);
    else if (rank == 2)
      finish<F, 2 % F::SPLIT>(sum, ty, at, group, x, m0, M, N);
    else
      finish<F, 3 % F::SPLIT>(sum, ty, at, group, x, m0, M, N);
  }
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); // shared memory has been read
}

template <int BM, int GROUPS, int SHARE, int SPLIT, int STAGES>
__global__ void __launch_bounds__(128 + 128 * GROUPS, 1)
    matmul(const __grid_constant__ CUtensorMap ta, const __grid_constant__ CUtensorMap tb,
           const __grid_constant__ CUtensorMap ty, int M, int K, int N) {
  typedef form<BM, GROUPS, SHARE, SPLIT, STAGES> F;
  extern __shared__ unsigned char memory[];
  __shared__ unsigned long long full[STAGES], empty[STAGES];
  unsigned char *own = memory + (1024 - shared_address(memory) % 1024) % 1024;
  memory_of<F> at = {own, own + STAGES * F::OWN_BYTES, own + STAGES * (F::OWN_BYTES + F::COMMON_BYTES), full, empty};
  if (threadIdx.x == 0) {
    fetch_map(&ta);
    fetch_map(&tb);
    for (int s = 0; s < STAGES; s++) {
      barrier_init(&full[s], 1);
      barrier_init(&empty[s], GROUPS * SHARE); // groups of warps in each block that reads the slice
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if (F::CLUSTER > 1)
    cluster_sync();
  else
    __syncthreads();
  if (threadIdx.x < 128) {
    if (GROUPS == 2)
      asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (GROUPS == 3)
      asm volatile("setmaxnreg.dec.sync.aligned.u32 32;");
    if (threadIdx.x == 0)
      bring_slices<F>(&ta, &tb, at, M, K, N);
    __syncwarp();
    if (SPLIT > 1)
      cluster_sync(); // the others hand over their sums
  } else {
    if (GROUPS == 2)
      asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    if (GROUPS == 3)
      asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
    make_tiles<F>(&ty, at, M, K, N);
  }
  __syncwarp();
  if (F::CLUSTER > 1)
    cluster_sync(); // another block may still write to this one's memory, or read it
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
