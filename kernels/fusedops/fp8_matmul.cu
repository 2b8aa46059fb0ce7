// Matrix product of float8 numbers (e4m3), by the tensor cores of Hopper.
// assay: task fusedops/matmul/fp8_matmul
// assay: twin LAST_TILE expect unwritten|wrong_value -- does not make the last tile
// assay: twin LAST_TERMS expect wrong_value|low_precision -- leaves out the last 32 terms of the last slice
// assay: twin HALF_SUMS expect wrong_value|low_precision -- rounds the sums to bf16 after every 32 terms
// The tensor core takes 8-bit factors only where terms lie side by side, as in a; in b columns do. So the product is
// made transposed, and columns of b are its first factor, which may come from registers: they are read by twos
// (ldmatrix.trans takes two bytes for one number) and put together again. Of two neighbouring columns one becomes row c
// of the product, the other row c + 8, so that a thread has both sums, a word of y.
//   copying      one thread keeps the copy engine busy, some slices of 128 terms ahead and into the next tile. Every
//                other tile is summed from its last term to its first: it begins with what level 2 still has
//   multiplying  two groups of four warps, each with 64 columns. The tensor core cuts sums of 8-bit factors to 14 bits:
//                after each slice they are added to others in single precision, while the other group multiplies
//   writing      by way of a small ring in shared memory, from where the copy engine takes it
//   form         what a form takes is about a launch, and for each round of tiles a time for each slice and one for the
//                end (ns0, ns1, ...; those of b turned fitted to times on an H200)
//   turned       for large products b is turned beforehand, in a launch of its own: then both factors are read from
//                shared memory, as the tensor core is fastest, and sums are of columns in their order
// The copy engine wants rows of a multiple of 16 bytes: other shapes go to a plain kernel.
// TURNS: the groups of warps give work to the tensor core in turn. HALVES: a slice is multiplied in so many parts of
// the tile's rows, and one is added up while the next is multiplied.
// assay: tune TURNS 0,1
// assay: tune HALVES 1,2
// FORM: the form that is thought to be fastest (0), or one of them whatever the shape.
// assay: tune FORM 0,1,2,3,4,5,6
// assay: constraint TURNS + FORM == 0 && HALVES == 1 || K % 16 == 0 && N % 16 == 0
// assay: let whole = K % 16 == 0 && N % 16 == 0
// assay: let tiles0 = ceil_div(M, 64) * ceil_div(N, 128)
// assay: let ns0 = 3944 + ceil_div(tiles0, 132) * (300 * ceil_div(K, 128) + 512)
// assay: let tiles1 = ceil_div(M, 96) * ceil_div(N, 128)
// assay: let ns1 = 4390 + ceil_div(tiles1, 132) * (393 * ceil_div(K, 128) - 6)
// assay: let tiles2 = ceil_div(M, 128) * ceil_div(N, 128)
// assay: let ns2 = 4872 + ceil_div(tiles2, 132) * (489 * ceil_div(K, 128) - 583)
// assay: let tiles3 = ceil_div(M, 160) * ceil_div(N, 128)
// assay: let ns3 = 5535 + ceil_div(tiles3, 132) * (556 * ceil_div(K, 128) - 977)
// assay: let ns4 = 8961 + ceil_div(tiles3, 132) * (507 * ceil_div(K, 128) - 138)
// assay: let tiles5 = ceil_div(M, 192) * ceil_div(N, 128)
// assay: let ns5 = 8961 + ceil_div(tiles5, 132) * (600 * ceil_div(K, 128) - 430)
// assay: let least = min(ns0, ns1, ns2, ns3, ns4, ns5)
// assay: let guess = ns0 == least ? 0 : ns1 == least ? 1 : ns2 == least ? 2 : ns3 == least ? 3 : ns4 == least ? 4 : 5
// assay: let form = FORM > 0 ? FORM - 1 : guess
// assay: let height = form == 0 ? 64 : form == 1 ? 96 : form == 2 ? 128 : form == 5 ? 192 : 160
// assay: let turned = whole && form > 3
// assay: scratch bt uint8[turned ? K * N : 1]
// assay: tensor_map ta of=a type=uint8 dims=whole ? K : 1,whole ? M : 1 strides=whole ? K : 16 \
//   box=128,height swizzle=128 l2=256
// assay: tensor_map tb of=b type=uint8 dims=whole ? N : 1,whole ? K : 1 strides=whole ? N : 16 \
//   box=128,128 swizzle=128 l2=256
// assay: tensor_map tt of=bt type=uint8 dims=turned ? K : 1,turned ? N : 1 strides=turned ? K : 16 \
//   box=128,128 swizzle=128 l2=256
// assay: tensor_map ty of=y type=bf16 dims=whole ? N : 1,whole ? M : 1 strides=whole ? N : 8 box=64,32 swizzle=128
// assay: launch matmul<64, 8> grid=min(tiles0, 132) block=384 shared=230400 if=whole && form == 0 \
//   args=ta, tb, ty, M, K, N
// assay: launch matmul<96, 6> grid=min(tiles1, 132) block=384 shared=205824 if=whole && form == 1 \
//   args=ta, tb, ty, M, K, N
// assay: launch matmul<128, 6> grid=min(tiles2, 132) block=384 shared=230400 if=whole && form == 2 \
//   args=ta, tb, ty, M, K, N
// assay: launch matmul<160, 5> grid=min(tiles3, 132) block=384 shared=218112 if=whole && form == 3 \
//   args=ta, tb, ty, M, K, N
// assay: launch turn grid=ceil_div(N, 128),ceil_div(K, 128) block=256 if=turned args=b, bt, K, N
// assay: launch matmul_turned<160, 5> grid=min(tiles3, 132) block=384 shared=218112 if=turned && form == 4 \
//   args=ta, tt, ty, M, K, N
// assay: launch matmul_turned<192, 4> grid=min(tiles5, 132) block=384 shared=197632 if=turned && form == 5 \
//   args=ta, tt, ty, M, K, N
// assay: launch matmul_plain grid=ceil_div(N, 32),ceil_div(M, 32) block=256 if=!whole args=a, b, y, M, K, N
#ifndef TURNS
#define TURNS 0
#define HALVES 1
#endif
struct alignas(64) CUtensorMap {
  unsigned long long opaque[16];
};

enum { BK = 128, GROUPS = 2, ACROSS = 128, OWN_BYTES = ACROSS * BK, ROW = 128 }; // OWN_BYTES: a slice of b; ROW: of a
enum { BAND = 8, SLOTS = 4, SLOT = 32 * ROW };                                   // as in bf16_matmul.cu

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

// A box from shared memory to (x, y) of a tensor map; what lies outside of it is left out.
static __device__ void store_box(const CUtensorMap *map, int x, int y, const void *from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x), "r"(y),
               "r"(shared_address(from))
               : "memory");
}

// The wgmma descriptor of rows of a in shared memory: 128 bytes each, swizzled as the copy engine does it. Groups of 8
// rows are 1024 bytes apart.
static __device__ unsigned long long describe(const void *tile) {
  return (unsigned long long)((shared_address(tile) & 0x3ffff) >> 4) | (unsigned long long)(1024 >> 4) << 32 |
         1ull << 62;
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
#define C4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define C8(i) C4(8 * i), C4(8 * i + 4)
#define MULTIPLY(n, names, a0, a1, a2, a3, b_name, add_name, ...)                                                      \
  static __device__ void multiply(float(&d)[n / 2], const unsigned(&a)[4], unsigned long long b, bool add) {           \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" add_name ", 0;\n"                                                \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k32.f32.e4m3.e4m3 {" names "}, {%" a0 ", %" a1 ", %" a2       \
                 ", %" a3 "}, %" b_name ", p, 1, 1;\n}"                                                                \
                 : __VA_ARGS__                                                                                         \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)add));                                 \
  }
#if HALVES > 1
MULTIPLY(32, N0 ", " N1, "16", "17", "18", "19", "20", "21", C8(0), C8(1))
MULTIPLY(48, N0 ", " N1 ", " N2, "24", "25", "26", "27", "28", "29", C8(0), C8(1), C8(2))
MULTIPLY(80, N0 ", " N1 ", " N2 ", " N3 ", " N4, "40", "41", "42", "43", "44", "45", C8(0), C8(1), C8(2), C8(3), C8(4))
#endif
MULTIPLY(64, N0 ", " N1 ", " N2 ", " N3, "32", "33", "34", "35", "36", "37", C8(0), C8(1), C8(2), C8(3))
MULTIPLY(96, N0 ", " N1 ", " N2 ", " N3 ", " N4 ", " N5, "48", "49", "50", "51", "52", "53", C8(0), C8(1), C8(2), C8(3),
         C8(4), C8(5))
MULTIPLY(128, N0 ", " N1 ", " N2 ", " N3 ", " N4 ", " N5 ", " N6 ", " N7, "64", "65", "66", "67", "68", "69", C8(0),
         C8(1), C8(2), C8(3), C8(4), C8(5), C8(6), C8(7))
MULTIPLY(160, N0 ", " N1 ", " N2 ", " N3 ", " N4 ", " N5 ", " N6 ", " N7 ", " N8 ", " N9, "80", "81", "82", "83", "84",
         "85", C8(0), C8(1), C8(2), C8(3), C8(4), C8(5), C8(6), C8(7), C8(8), C8(9))

// The same with the first factor in shared memory.
#define MULTIPLY_SHARED(n, names, a_name, b_name, add_name, ...)                                                       \
  static __device__ void multiply(float(&d)[n / 2], unsigned long long a, unsigned long long b, bool add) {            \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" add_name ", 0;\n"                                                \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k32.f32.e4m3.e4m3 {" names "}, %" a_name ", %" b_name         \
                 ", p, 1, 1;\n}"                                                                                       \
                 : __VA_ARGS__                                                                                         \
                 : "l"(a), "l"(b), "r"((int)add));                                                                     \
  }
MULTIPLY_SHARED(160, N0 ", " N1 ", " N2 ", " N3 ", " N4 ", " N5 ", " N6 ", " N7 ", " N8 ", " N9, "80", "81", "82",
                C8(0), C8(1), C8(2), C8(3), C8(4), C8(5), C8(6), C8(7), C8(8), C8(9))
MULTIPLY_SHARED(192, N0 ", " N1 ", " N2 ", " N3 ", " N4 ", " N5 ", " N6 ", " N7 ", " N8 ", " N9 ", " N10 ", " N11, "96",
                "97", "98", C8(0), C8(1), C8(2), C8(3), C8(4), C8(5), C8(6), C8(7), C8(8), C8(9), C8(10), C8(11))

// Two sums as a word, the first one in the lower half.
static __device__ unsigned pack(float low, float high) {
  unsigned word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}

static __device__ float to_float(unsigned char x) {
  unsigned halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"((unsigned short)x));
  float value;
  asm("{\n.reg .b16 low, high;\nmov.b32 {low, high}, %1;\ncvt.f32.f16 %0, low;\n}" : "=f"(value) : "r"(halves));
  return value;
}

// Tiles of BM rows of y and 128 columns, 64 for each group of warps.
template <int BM_, int STAGES_> struct form {
  enum {
    BM = BM_,
    STAGES = STAGES_,
    COMMON_BYTES = BM * ROW, // of a
    SHARED = STAGES * (OWN_BYTES + COMMON_BYTES) + GROUPS * SLOTS * SLOT + 1024
  };
  static_assert(BM % 32 == 0, "whole boxes");
};

// The place of a tile: BAND rows of tiles are walked column by column, the next ones from where these ended.
template <class F> static __device__ void tile_place(int tile, int M, int N, int *m0, int *n0) {
  int down = (M + F::BM - 1) / F::BM, across = (N + ACROSS - 1) / ACROSS;
  int first = tile / (BAND * across) * BAND, rows = min(down - first, (int)BAND), rest = tile % (BAND * across);
  int column = first / BAND % 2 ? across - 1 - rest / rows : rest / rows;
  *m0 = (first + rest % rows) * F::BM;
  *n0 = column * ACROSS;
}

template <class F> static __device__ int count_tiles(int M, int N) {
  int tiles = (M + F::BM - 1) / F::BM * ((N + ACROSS - 1) / ACROSS);
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

// The shared memory of a block: slices of b and a, boxes of y, and the barriers of the ring.
struct memory_of {
  unsigned char *own, *common, *slots;
  unsigned long long *full, *empty;
};

// TURNED: tb is of b turned.
template <class F, bool TURNED>
static __device__ void bring_slices(const CUtensorMap *ta, const CUtensorMap *tb, memory_of at, int M, int K, int N) {
  int tiles = count_tiles<F>(M, N), slices = (K + BK - 1) / BK, m0, n0;
  bool back = false;
  ring<F> r = {0, 1};
  for (int tile = (int)blockIdx.x; tile < tiles; tile += (int)gridDim.x) {
    tile_place<F>(tile, M, N, &m0, &n0);
#pragma unroll 1
    for (int s = 0; s < slices; s++, r.next()) {
      int k = (back ? slices - 1 - s : s) * BK;
      barrier_wait(&at.empty[r.slot], r.parity);
      barrier_expect(&at.full[r.slot], OWN_BYTES + F::COMMON_BYTES);
      fetch_box(at.own + r.slot * OWN_BYTES, tb, TURNED ? k : n0, TURNED ? n0 : k, &at.full[r.slot]);
      fetch_box(at.common + r.slot * F::COMMON_BYTES, ta, k, m0, &at.full[r.slot]);
    }
    back = !back;
  }
}

// What a thread reads of b: where, and how the bytes of two words are put together, those of one column and of the
// next.
struct reader {
  unsigned place, even, odd;
};

// A lane says where one row of a matrix of 8 x 8 pairs of columns is. Its rows are terms, chosen so that lane q of each
// four gets 4q and 4q + 1 from the first, the two after these from the second, and that no two rows lie in the same
// banks: lanes 2 and 3 have the two the other way round.
static __device__ reader reader_of(int group) {
  int warp = (int)threadIdx.x % 128 / 32, lane = (int)threadIdx.x % 32, matrix = lane / 8, q = lane % 8 / 2;
  int k = matrix / 2 * 16 + 4 * q + ((matrix % 2) ^ (q / 2)) * 2 + lane % 2, part = group * 4 + warp;
  bool turned = lane % 4 >= 2;
  return {(unsigned)(k * ROW + (part ^ k % 8) * 16), turned ? 0x2064u : 0x6420u, turned ? 0x3175u : 0x7531u};
}

// Terms 0 to 127 of a slice and 16 columns, as the tensor core wants its first factor.
static __device__ void read_columns(unsigned (&to)[4][4], unsigned slice, reader how) {
#pragma unroll
  for (int step = 0; step < 4; step++) {
    unsigned w[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "r"(slice + how.place + step * 32 * ROW)
                 : "memory");
    to[step][0] = __byte_perm(w[0], w[1], how.even);
    to[step][1] = __byte_perm(w[0], w[1], how.odd);
    to[step][2] = __byte_perm(w[2], w[3], how.even);
    to[step][3] = __byte_perm(w[2], w[3], how.odd);
  }
}

template <int N> static __device__ void keep(float (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N; i++)
    asm volatile("" : "+f"(x[i])::"memory");
}

static __device__ void take_turn(int group) {
  if (TURNS)
    asm volatile("bar.sync %0, 256;" ::"r"(4 + group) : "memory");
}

static __device__ void give_turn(int group) {
  if (TURNS)
    asm volatile("bar.arrive %0, 256;" ::"r"(4 + (group + 1) % GROUPS) : "memory");
}

// Sums of a slice that the tensor core is at, of a part of the tile's rows each.
template <int BM> struct slice_sums { float of[HALVES][BM / 2 / HALVES]; };

// Waits until all but LEFT parts of the slice are multiplied.
template <int LEFT, int N> static __device__ void wait_for(float (&part)[N]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
  keep(part);
}

typedef unsigned registers[4];
static __device__ const registers &factor(const registers (&now)[4], int step) {
  return now[step];
}
static __device__ unsigned long long factor(unsigned long long tile, int step) {
  return tile + (step * 32 >> 4);
}

// Multiplies a part of a slice, rows from `first` on, with columns in registers or in shared memory.
template <class F, int N, class COLUMNS>
static __device__ void multiply_part(float (&part)[N], const COLUMNS &now, const unsigned char *first, int left) {
  unsigned long long second = describe(first);
#pragma unroll
  for (int step = 0; step < 4; step++)
#ifdef LAST_TERMS
    if (step < 3 || left > 1)
#endif
    {
      multiply(part, factor(now, step), second + (step * 32 >> 4), step > 0);
#ifdef HALF_SUMS
      asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
      keep(part);
#pragma unroll
      for (int i = 0; i < N; i++)
        part[i] = __uint_as_float(pack(0, part[i]) & 0xffff0000u);
      keep(part);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
    }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Multiplies a slice whose columns are there, and reads the next one's meanwhile.
template <class F>
static __device__ void add_slice(float (&sum)[F::BM / 2], slice_sums<F::BM> &part, unsigned (&now)[4][4],
                                 unsigned (&next)[4][4], memory_of at, ring<F> *r, reader how, int left, int group) {
  enum { N = F::BM / 2 / HALVES };
  int slot = r->slot;
  take_turn(group);
#pragma unroll
  for (int h = 0; h < HALVES; h++)
    keep(part.of[h]);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int h = 0; h < HALVES; h++)
    multiply_part<F>(part.of[h], now, at.common + slot * F::COMMON_BYTES + h * F::BM / HALVES * ROW, left);
  give_turn(group);
  r->next();
  if (left > 1) {
    barrier_wait(&at.full[r->slot], r->parity);
    read_columns(next, shared_address(at.own + r->slot * OWN_BYTES), how);
  }
  if (HALVES > 1) {
    wait_for<HALVES - 1>(part.of[0]);
#pragma unroll
    for (int i = 0; i < N; i++)
      sum[i] += part.of[0][i];
  }
  wait_for<0>(part.of[HALVES - 1]);
#pragma unroll
  for (int step = 0; step < 4; step++) // the tensor core read them until here
    asm volatile("" ::"r"(now[step][0]), "r"(now[step][1]), "r"(now[step][2]), "r"(now[step][3]) : "memory");
  if (threadIdx.x % 128 == 0)
    barrier_arrive(&at.empty[slot]);
#pragma unroll
  for (int i = 0; i < N; i++)
    sum[(HALVES - 1) * N + i] += part.of[HALVES - 1][i];
}

template <class F>
static __device__ void add_slices(float (&sum)[F::BM / 2], memory_of at, ring<F> *r, reader how, int slices,
                                  int group) {
  unsigned even[4][4], odd[4][4];
  slice_sums<F::BM> part;
#pragma unroll
  for (int i = 0; i < F::BM / 2; i++)
    sum[i] = part.of[i / (F::BM / 2 / HALVES)][i % (F::BM / 2 / HALVES)] = 0;
  barrier_wait(&at.full[r->slot], r->parity);
  read_columns(even, shared_address(at.own + r->slot * OWN_BYTES), how);
#pragma unroll 1
  for (int s = 0; s < slices; s += 2) {
    add_slice(sum, part, even, odd, at, r, how, slices - s, group);
    if (s + 1 < slices)
      add_slice(sum, part, odd, even, at, r, how, slices - s - 1, group);
  }
}

// The same for b turned: the other group multiplies while this one adds up.
template <class F>
static __device__ void add_turned(float (&sum)[F::BM / 2], memory_of at, ring<F> *r, int slices, int group) {
  float part[F::BM / 2];
#pragma unroll
  for (int i = 0; i < F::BM / 2; i++)
    sum[i] = part[i] = 0;
#pragma unroll 1
  for (int s = 0; s < slices; s++, r->next()) {
    barrier_wait(&at.full[r->slot], r->parity);
    take_turn(group);
    keep(part);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    multiply_part<F>(part, describe(at.own + r->slot * OWN_BYTES + group * (OWN_BYTES / GROUPS)),
                     at.common + r->slot * F::COMMON_BYTES, slices - s);
    give_turn(group);
    wait_for<0>(part);
    if (threadIdx.x % 128 == 0)
      barrier_arrive(&at.empty[r->slot]);
#pragma unroll
    for (int i = 0; i < F::BM / 2; i++)
      sum[i] += part[i];
  }
}

// A thread's sums of 32 rows of y and its warp's 16 columns, to a box in shared memory: words of two neighbouring
// columns.
static __device__ void fill_box(unsigned char *box, const float *d, int warp, int lane) {
#pragma unroll
  for (int j = 0; j < 8; j++) {
    int i = j / 2 * 4 + j % 2, row = j / 2 * 8 + lane % 4 * 2 + j % 2, part = warp * 2 + lane / 16;
    *(unsigned *)(box + row * ROW + (part ^ row % 8) * 16 + lane / 4 % 4 * 4) = pack(d[i], d[i + 2]);
  }
}

// The same where sums are of columns in their order: eight lanes each say where the columns of a matrix of 8 x 8 go.
static __device__ void fill_box_in_order(unsigned char *box, const float *d, int warp, int lane) {
#pragma unroll
  for (int j = 0; j < 4; j += 2) {
    int row = (j + lane / 16) * 8 + lane % 8, part = warp * 2 + lane / 8 % 2;
    const float *sums = d + j * 4;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                     shared_address(box) + row * ROW + (part ^ row % 8) * 16),
                 "r"(pack(sums[0], sums[1])), "r"(pack(sums[2], sums[3])), "r"(pack(sums[4], sums[5])),
                 "r"(pack(sums[6], sums[7]))
                 : "memory");
  }
}

// Writes a group's 64 columns of y from x on, and rows from y on, by way of the group's slots. All slots may still be
// read when this returns. TURNED: sums are of columns in their order.
template <class F, bool TURNED>
static __device__ void store_tile(const float (&d)[F::BM / 2], const CUtensorMap *ty, unsigned char *slots, int x,
                                  int y, int M, int N) {
  int group = (int)threadIdx.x / 128 - 1, warp = (int)threadIdx.x % 128 / 32, lane = (int)threadIdx.x % 32;
#pragma unroll
  for (int q = 0; q < F::BM / 32; q++) {
    unsigned char *box = slots + q % SLOTS * SLOT;
    // Each slot waits for the box before in it. Where a tile's boxes do not end with the last slot, that is another
    // number of boxes ago for the next tile, which waits for all.
    if (threadIdx.x % 128 == 0 && q == 0 && F::BM / 32 % SLOTS != 0)
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    else if (threadIdx.x % 128 == 0)
      asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(SLOTS - 1) : "memory");
    asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory");
    if constexpr (TURNED)
      fill_box_in_order(box, &d[q * 16], warp, lane);
    else
      fill_box(box, &d[q * 16], warp, lane);
    asm volatile("fence.proxy.async.shared::cta;\nbar.sync %0, 128;" ::"r"(1 + group) : "memory");
    if (threadIdx.x % 128 == 0) {
      if (x < N && y + 32 * q < M)
        store_box(ty, x, y + 32 * q, box);
      asm volatile("cp.async.bulk.commit_group;" ::: "memory"); // of nothing too: each slot waits for its own box
    }
  }
}

template <class F, bool TURNED>
static __device__ void make_tiles(const CUtensorMap *ty, memory_of at, int M, int K, int N) {
  int tiles = count_tiles<F>(M, N), slices = (K + BK - 1) / BK, m0, n0;
  int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / 128, 0) - 1; // which the compiler sees to be one for a warp
  reader how = reader_of(group);
  ring<F> r = {0, 0};
  float sum[F::BM / 2];
  if (group == GROUPS - 1)
    give_turn(group); // the first one has the first turn
  for (int tile = (int)blockIdx.x; tile < tiles; tile += (int)gridDim.x) {
    tile_place<F>(tile, M, N, &m0, &n0);
    if constexpr (TURNED)
      add_turned<F>(sum, at, &r, slices, group);
    else
      add_slices<F>(sum, at, &r, how, slices, group);
    store_tile<F, TURNED>(sum, ty, at.slots + group * SLOTS * SLOT, n0 + group * 64, m0, M, N);
  }
  if (group == 0)
    take_turn(group);                                            // the last one that was given
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); // shared memory has been read
}

template <class F, bool TURNED>
static __device__ void work(const CUtensorMap *ta, const CUtensorMap *tb, const CUtensorMap *ty, int M, int K, int N) {
  extern __shared__ unsigned char memory[];
  __shared__ unsigned long long full[F::STAGES], empty[F::STAGES];
  unsigned char *own = memory + (1024 - shared_address(memory) % 1024) % 1024;
  memory_of at = {own, own + F::STAGES * OWN_BYTES, own + F::STAGES * (OWN_BYTES + F::COMMON_BYTES), full, empty};
  if (threadIdx.x == 0) {
    fetch_map(ta);
    fetch_map(tb);
    for (int s = 0; s < F::STAGES; s++) {
      barrier_init(&full[s], 1);
      barrier_init(&empty[s], GROUPS);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (threadIdx.x == 0)
      bring_slices<F, TURNED>(ta, tb, at, M, K, N);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    make_tiles<F, TURNED>(ty, at, M, K, N);
  }
}

template <int BM, int STAGES>
__global__ void __launch_bounds__(128 + 128 * GROUPS, 1)
    matmul(const __grid_constant__ CUtensorMap ta, const __grid_constant__ CUtensorMap tb,
           const __grid_constant__ CUtensorMap ty, int M, int K, int N) {
  work<form<BM, STAGES>, false>(&ta, &tb, &ty, M, K, N);
}

template <int BM, int STAGES>
__global__ void __launch_bounds__(128 + 128 * GROUPS, 1)
    matmul_turned(const __grid_constant__ CUtensorMap ta, const __grid_constant__ CUtensorMap tt,
                  const __grid_constant__ CUtensorMap ty, int M, int K, int N) {
  work<form<BM, STAGES>, true>(&ta, &tt, &ty, M, K, N);
}

// bt[n][k] = b[k][n], 128 x 128 bytes a block. A thread turns 4 x 4 of them, a word of four terms for each column;
// words lie in shared memory so that neither those of four columns nor those of one meet in a bank.
__global__ void turn(const unsigned char *__restrict__ b, unsigned char *__restrict__ bt, int K, int N) {
  __shared__ unsigned turned[128][32];
  int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, n0 = (int)blockIdx.x * 128,
      k0 = (int)blockIdx.y * 128;
  unsigned in[4][4];
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) {
      int k = k0 + (i * 8 + warp) * 4 + j, n = n0 + lane * 4;
      in[i][j] = k < K && n < N ? __ldcs((const unsigned *)(b + (long long)k * N + n)) : 0;
    }
#pragma unroll
  for (int i = 0; i < 4; i++) {
    unsigned low = __byte_perm(in[i][0], in[i][1], 0x5140), high = __byte_perm(in[i][2], in[i][3], 0x5140);
    unsigned low2 = __byte_perm(in[i][0], in[i][1], 0x7362), high2 = __byte_perm(in[i][2], in[i][3], 0x7362);
    int place = (i * 8 + warp) ^ lane;
    turned[lane * 4][place] = __byte_perm(low, high, 0x5410);
    turned[lane * 4 + 1][place] = __byte_perm(low, high, 0x7632);
    turned[lane * 4 + 2][place] = __byte_perm(low2, high2, 0x5410);
    turned[lane * 4 + 3][place] = __byte_perm(low2, high2, 0x7632);
  }
  __syncthreads();
  if (k0 + lane * 4 < K)
#pragma unroll
    for (int i = 0; i < 16; i++) {
      int n = warp * 16 + i;
      if (n0 + n < N)
        *(unsigned *)(bt + (long long)(n0 + n) * K + k0 + lane * 4) = turned[n][lane ^ n / 4];
    }
}

// Any shape: a tile of 32 x 32, 32 terms at a time, 4 sums in each thread.
__global__ void matmul_plain(const unsigned char *__restrict__ a, const unsigned char *__restrict__ b,
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
