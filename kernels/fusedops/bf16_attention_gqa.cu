// Causal attention in bf16 where four heads of queries share one of keys, by the tensor cores of Hopper: two or three
// groups of 64 queries, and 128 keys at a time. Scores and sums stay in registers, weights become bf16 there; row sums
// are of the weights before. While a group has its exponentials another one multiplies: they take turns, and in each
// the scores of the next keys are under way while values of these are weighed. One thread keeps the copy engine busy,
// also with what the next part of the work needs.
// assay: task fusedops/attention/bf16_attention_gqa
// assay: twin OTHER_HEADS expect wrong_value|low_precision|wrong_class -- heads of keys in turn instead of four by four
// assay: twin NO_RESCALE expect wrong_value|low_precision|wrong_class -- old sums keep the old maximum
// assay: twin NO_SCALE expect wrong_value|low_precision|wrong_class -- forgets 1 / sqrt(D)
// The copy engine wants rows of a multiple of 16 bytes: other widths go to a plain kernel.
// assay: require D <= 512 -- a lane of the plain kernel keeps sixteen elements of its query
// assay: let fast = D % 8 == 0 && D <= 128
// assay: let form = !fast ? 0 : D > 64 ? 1 : S >= 2048 ? 2 : 3
// assay: tune ORDER 2,0,1
// assay: tune AHEAD 2,1
// How many heads the blocks are at together (ORDER 2): their keys and values fit level 2, and rounds of blocks are
// even.
// assay: let some = fast ? 18000000 / (S * D * 4 * G / H) / 33 * 33 : 0
// assay: let near = ORDER < 2 || some == 0 ? B * H : some
// assay: tensor_map tq of=q type=bf16 dims=fast ? D : 1,fast ? S : 1,fast ? B * H : 1 \
//   strides=fast ? D : 8,fast ? S * D : 8 box=64,64,1 swizzle=128 l2=256
// assay: tensor_map tk of=k type=bf16 dims=fast ? D : 1,fast ? S : 1,fast ? B * G : 1 \
//   strides=fast ? D : 8,fast ? S * D : 8 box=64,128,1 swizzle=128 l2=256
// assay: tensor_map tv of=v type=bf16 dims=fast ? D : 1,fast ? S : 1,fast ? B * G : 1 \
//   strides=fast ? D : 8,fast ? S * D : 8 box=64,128,1 swizzle=128 l2=256
// assay: tensor_map ty of=y type=bf16 dims=fast ? D : 1,fast ? S : 1,fast ? B * H : 1 \
//   strides=fast ? D : 8,fast ? S * D : 8 box=64,64,1 swizzle=128
// assay: launch attention<128, 2, 128, 2, true, AHEAD> grid=min(132, ceil_div(S, 128) * B * H) block=384 \
//   shared=197632 + (AHEAD - 1) * 32768 if=form == 1 args=tq, tk, tv, ty, H, G, S, S, B * H, near, float(1 / sqrt(D))
// assay: launch attention<64, 3, 128, 3, true, AHEAD> grid=min(132, ceil_div(S, 192) * B * H) block=512 \
//   shared=148480 + (AHEAD - 1) * 24576 if=form == 2 args=tq, tk, tv, ty, H, G, S, S, B * H, near, float(1 / sqrt(D))
// assay: launch attention<64, 2, 128, 4, true, AHEAD> grid=min(132, ceil_div(S, 128) * B * H) block=384 \
//   shared=164864 + (AHEAD - 1) * 16384 if=form == 3 args=tq, tk, tv, ty, H, G, S, S, B * H, near, float(1 / sqrt(D))
// assay: launch attention_plain grid=ceil_div(B * H * S, 4) block=128 if=!fast \
//   args=q, k, v, y, H, G, S, S, D, float(1 / sqrt(D)), B * H * S
#ifndef ORDER
#define ORDER 2
#define AHEAD 2
#endif
struct alignas(64) CUtensorMap {
  unsigned long long opaque[16];
};
typedef unsigned short bf16;

enum { ROW = 128 }; // bytes of 64 elements, which are a row of a piece in shared memory

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

// The box at (x, y, z) of a tensor map, to shared memory; the barrier counts its bytes.
static __device__ void fetch_box(void *to, const CUtensorMap *map, int x, int y, int z, unsigned long long *barrier) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
               "[%5];" ::"r"(shared_address(to)),
               "l"(map), "r"(x), "r"(y), "r"(z), "r"(shared_address(barrier))
               : "memory");
}

// A box from shared memory to (x, y, z) of a tensor map; what lies outside of it is left out.
static __device__ void store_box(const CUtensorMap *map, int x, int y, int z, const void *from) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map), "r"(x),
               "r"(y), "r"(z), "r"(shared_address(from))
               : "memory");
}

// The wgmma descriptor of a tile in shared memory: rows of 128 bytes, swizzled as the copy engine does it. Groups of 8
// rows are 1024 bytes apart; `leading` is the distance of pieces of 64 columns where rows run along the tile, and has
// no meaning where they run along the sum.
static __device__ unsigned long long describe(const void *tile, int leading) {
  return (unsigned long long)((shared_address(tile) & 0x3ffff) >> 4) | (unsigned long long)(leading >> 4) << 16 |
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
#define C4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define C8(i) C4(8 * i), C4(8 * i + 4)
#define MULTIPLY_SHARED(n, names, a_name, b_name, add_name, ...)                                                       \
  static __device__ void multiply_shared(float(&d)[n / 2], unsigned long long a, unsigned long long b, bool add) {     \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" add_name ", 0;\n"                                                \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16 {" names "}, %" a_name ", %" b_name         \
                 ", p, 1, 1, 0, 0;\n}"                                                                                 \
                 : __VA_ARGS__                                                                                         \
                 : "l"(a), "l"(b), "r"((int)add));                                                                     \
  }
#define MULTIPLY_REGISTERS(n, names, a_names, b_name, ...)                                                             \
  static __device__ void multiply_registers(float(&d)[n / 2], const unsigned *a, unsigned long long b) {               \
    asm volatile("wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16 {" names "}, {" a_names "}, %" b_name       \
                 ", 1, 1, 1, 1;"                                                                                       \
                 : __VA_ARGS__                                                                                         \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                                                \
  }
MULTIPLY_SHARED(128, N0 ", " N1 ", " N2 ", " N3 ", " N4 ", " N5 ", " N6 ", " N7, "64", "65", "66", C8(0), C8(1), C8(2),
                C8(3), C8(4), C8(5), C8(6), C8(7))
MULTIPLY_REGISTERS(64, N0 ", " N1 ", " N2 ", " N3, "%32, %33, %34, %35", "36", C8(0), C8(1), C8(2), C8(3))
MULTIPLY_REGISTERS(128, N0 ", " N1 ", " N2 ", " N3 ", " N4 ", " N5 ", " N6 ", " N7, "%64, %65, %66, %67", "68", C8(0),
                   C8(1), C8(2), C8(3), C8(4), C8(5), C8(6), C8(7))
// Two numbers as a word, the first one in the lower half.
static __device__ unsigned pack(float low, float high) {
  unsigned word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}

static __device__ float exp2_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

template <int N, int COUNT> static __device__ void wait_for(float (&d)[COUNT]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
#pragma unroll
  for (int i = 0; i < COUNT; i++)
    asm volatile("" : "+f"(d[i])::"memory"); // not to be read before here
}

// WIDTH columns of a head in shared memory (64 or 128), GROUPS groups of 64 queries, KEYS keys at a time in a ring of
// STAGES. Queries of PLACES parts are there at once.
template <int WIDTH_, int GROUPS_, int KEYS_, int STAGES_, bool CAUSAL_, int PLACES_ = 1> struct form {
  enum {
    WIDTH = WIDTH_,
    GROUPS = GROUPS_,
    KEYS = KEYS_,
    STAGES = STAGES_,
    CAUSAL = CAUSAL_,
    PLACES = PLACES_,
    PIECES = WIDTH / 64,
    QUERY_PIECE = 64 * ROW,
    KEY_PIECE = KEYS * ROW,
    QUERY_BYTES = PIECES * QUERY_PIECE, // of a group
    KEY_BYTES = PIECES * KEY_PIECE,
    SHARED = (PLACES + 1) * GROUPS * QUERY_BYTES + 2 * STAGES * KEY_BYTES + 1024
  };
};

// What a block has in shared memory: its queries, its answers, rings of keys and of values, and their barriers.
template <class F> struct memory_of {
  unsigned char *queries, *answers, *keys, *values;
  unsigned long long *full_queries, *empty_queries, *full_keys, *full_values, *empty_keys, *empty_values;
};

// A position in the rings of keys and values: the slot, and how often it went round.
template <class F> struct ring {
  int slot, parity;
  __device__ void next() {
    if (++slot == F::STAGES) {
      slot = 0;
      parity ^= 1;
    }
  }
};

// Heads, of keys too, and how many queries and keys there are.
struct extent {
  int heads, shared, queries, keys, all, near; // heads of a batch, those of keys, ..., heads of all batches, at once
};

// A part of the work: some queries of a head.
struct place {
  int head, shared, first, steps; // head of q and y, of k and v; its first query; how many times KEYS keys
};

template <class F> static __device__ int count_parts(extent e) {
  return (e.queries + 64 * F::GROUPS - 1) / (64 * F::GROUPS) * e.all;
}

// Those with the most keys come first, of `near` heads: the short ones fill what is left at the end.
template <class F> static __device__ place place_of(int part, extent e) {
  int blocks = (e.queries + 64 * F::GROUPS - 1) / (64 * F::GROUPS), block, head;
  if (F::CAUSAL) {
    int first = part / (e.near * blocks) * e.near, rest = part % (e.near * blocks), some = min(e.near, e.all - first);
    block = blocks - 1 - rest / some;
    head = first + rest % some;
  } else {
    block = part % blocks;
    head = part / blocks;
  }
  int first = block * 64 * F::GROUPS, seen = e.keys;
  if (F::CAUSAL)
    seen = min(e.keys, first + 64 * F::GROUPS);
#ifdef OTHER_HEADS
  int shared = head % e.heads % e.shared;
#else
  int shared = head % e.heads / (e.heads / e.shared);
#endif
  return {head, head / e.heads * e.shared + shared, first, (seen + F::KEYS - 1) / F::KEYS};
}

// The parts of a block, one for each round: in every other round blocks take them from the last to the first, so that
// who had more keys than others has fewer in the next.
static __device__ int part_of(int round) {
  int turned = ORDER > 0 ? round % 2 : 0, x = (int)blockIdx.x;
  return round * (int)gridDim.x + x + turned * ((int)gridDim.x - 1 - 2 * x);
}

static __device__ int count_rounds(int parts) {
  int whole = parts / (int)gridDim.x;
  return whole + (part_of(whole) < parts);
}

// Brings what all parts of a block need, as far ahead as there is room.
template <class F>
static __device__ void bring(const CUtensorMap *tq, const CUtensorMap *tk, const CUtensorMap *tv, memory_of<F> m,
                             extent e) {
  ring<F> r = {0, 1};
  int rounds = count_rounds(count_parts<F>(e));
  for (int round = 0; round < rounds; round++) {
    place at = place_of<F>(part_of(round), e);
    int here = round % F::PLACES;
    for (int s = 0; s < at.steps; s++, r.next()) {
      int key = (at.steps - 1 - s) * F::KEYS; // from the last keys, which may need a mask, to the first
      barrier_wait(&m.empty_keys[r.slot], r.parity);
      barrier_expect(&m.full_keys[r.slot], F::KEY_BYTES);
      for (int p = 0; p < F::PIECES; p++)
        fetch_box(m.keys + r.slot * F::KEY_BYTES + p * F::KEY_PIECE, tk, p * 64, key, at.shared, &m.full_keys[r.slot]);
      if (s == 0) {
        barrier_wait(&m.empty_queries[here], round / F::PLACES % 2 ^ 1);
        barrier_expect(&m.full_queries[here], F::GROUPS * F::QUERY_BYTES);
        for (int i = 0; i < F::GROUPS * F::PIECES; i++)
          fetch_box(m.queries + (here * F::GROUPS * F::PIECES + i) * F::QUERY_PIECE, tq, i % F::PIECES * 64,
                    at.first + i / F::PIECES * 64, at.head, &m.full_queries[here]);
      }
      barrier_wait(&m.empty_values[r.slot], r.parity);
      barrier_expect(&m.full_values[r.slot], F::KEY_BYTES);
      for (int p = 0; p < F::PIECES; p++)
        fetch_box(m.values + r.slot * F::KEY_BYTES + p * F::KEY_PIECE, tv, p * 64, key, at.shared,
                  &m.full_values[r.slot]);
    }
  }
}

// Issues scores = queries x keys.
template <class F>
static __device__ void score(float (&scores)[F::KEYS / 2], const unsigned char *queries, const unsigned char *keys) {
#pragma unroll
  for (int step = 0; step < F::WIDTH / 16; step++)
    multiply_shared(scores, describe(queries + step / 4 * F::QUERY_PIECE, 0) + (step % 4 * 32 >> 4),
                    describe(keys + step / 4 * F::KEY_PIECE, 0) + (step % 4 * 32 >> 4), step > 0);
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Issues sums += weights x values.
template <class F>
static __device__ void weigh(float (&sums)[F::WIDTH / 2], const unsigned (&weights)[F::KEYS / 4],
                             const unsigned char *values) {
  unsigned long long rows = describe(values, F::KEY_PIECE);
#pragma unroll
  for (int step = 0; step < F::KEYS / 16; step++)
    multiply_registers(sums, &weights[step * 4], rows + (step * 16 * ROW >> 4));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// A thread's two rows: the largest score so far, scaled and rounded, and the sum of the terms next to it.
struct rows {
  float largest[2], total[2];
};

// Hides the keys that a query must not see, or that there are not.
template <class F> static __device__ void hide(float (&scores)[F::KEYS / 2], int keys, int key, int query) {
  int column = key + (int)threadIdx.x % 4 * 2;
#pragma unroll
  for (int i = 0; i < F::KEYS / 2; i++) {
    int c = column + i / 4 * 8 + i % 2, r = query + i % 4 / 2 * 8;
    bool seen = c < keys;
    if (F::CAUSAL)
      seen = seen && c <= r;
    scores[i] = seen ? scores[i] : __int_as_float(0xff800000);
  }
}

// Scores become terms, and `old` by what earlier ones must be multiplied.
template <class F> static __device__ void terms(float (&scores)[F::KEYS / 2], rows *r, float (&old)[2], float scale) {
  float largest[2] = {scores[0], scores[2]};
#pragma unroll
  for (int i = 0; i < F::KEYS / 2; i++)
    largest[i % 4 / 2] = fmaxf(largest[i % 4 / 2], scores[i]);
#pragma unroll
  for (int h = 0; h < 2; h++) {
    largest[h] = fmaxf(largest[h], __shfl_xor_sync(0xffffffffu, largest[h], 1));
    largest[h] = fmaxf(largest[h], __shfl_xor_sync(0xffffffffu, largest[h], 2));
    float next = fmaxf(r->largest[h], largest[h] * scale);
    float from = next == __int_as_float(0xff800000) ? 0 : next; // nothing seen yet
    old[h] = exp2_of(r->largest[h] - from);
#ifdef NO_RESCALE
    old[h] = 1;
#endif
    r->largest[h] = next;
    r->total[h] *= old[h];
    largest[h] = from;
  }
#pragma unroll
  for (int i = 0; i < F::KEYS / 2; i++) {
    scores[i] = exp2_of(scores[i] * scale - largest[i % 4 / 2]);
    r->total[i % 4 / 2] += scores[i];
  }
}

template <class F>
static __device__ void pack_all(unsigned (&weights)[F::KEYS / 4], const float (&scores)[F::KEYS / 2]) {
#pragma unroll
  for (int i = 0; i < F::KEYS / 4; i++)
    weights[i] = pack(scores[2 * i], scores[2 * i + 1]);
}

// Groups take turns in giving work to the tensor core, so that one multiplies while the other has its exponentials.
template <class F> static __device__ void take_turn(int group) {
  if (F::GROUPS > 1)
    asm volatile("bar.sync %0, 256;" ::"r"(4 + group) : "memory");
}

template <class F> static __device__ void give_turn(int group) {
  if (F::GROUPS > 1)
    asm volatile("bar.arrive %0, 256;" ::"r"(4 + (group + 1) % F::GROUPS) : "memory");
}

// Writes a group's rows, each divided by its total, by way of shared memory.
template <class F>
static __device__ void store(const float (&sums)[F::WIDTH / 2], rows r, const CUtensorMap *ty, unsigned char *to,
                             place at, int group) {
  int warp = (int)threadIdx.x % 128 / 32, lane = (int)threadIdx.x % 32;
  float scale[2];
  if (threadIdx.x % 128 == 0)
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); // the rows before
  asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory");
#pragma unroll
  for (int h = 0; h < 2; h++) {
    r.total[h] += __shfl_xor_sync(0xffffffffu, r.total[h], 1);
    r.total[h] += __shfl_xor_sync(0xffffffffu, r.total[h], 2);
    scale[h] = 1 / r.total[h];
  }
#pragma unroll
  for (int j = 0; j < F::WIDTH / 8; j += 2) {
    const float *d = &sums[j * 4];
    int row = warp * 16 + lane % 16, part = j % 8 + lane / 16;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                     shared_address(to) + j / 8 * F::QUERY_PIECE + row * ROW + (part ^ row % 8) * 16),
                 "r"(pack(d[0] * scale[0], d[1] * scale[0])), "r"(pack(d[2] * scale[1], d[3] * scale[1])),
                 "r"(pack(d[4] * scale[0], d[5] * scale[0])), "r"(pack(d[6] * scale[1], d[7] * scale[1]))
                 : "memory");
  }
  asm volatile("fence.proxy.async.shared::cta;\nbar.sync %0, 128;" ::"r"(1 + group) : "memory");
  if (threadIdx.x % 128 == 0) {
    for (int p = 0; p < F::PIECES; p++)
      store_box(ty, p * 64, at.first + group * 64, at.head, to + p * F::QUERY_PIECE);
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  }
}

// A group's 64 queries of a part: scores of the next keys are under way while values of these are weighed.
template <class F>
static __device__ void attend(memory_of<F> m, const CUtensorMap *ty, place at, ring<F> *ring, int round, int group,
                              int keys, float scale) {
  int query = at.first + group * 64 + (int)threadIdx.x % 128 / 32 * 16 + (int)threadIdx.x % 32 / 4;
  bool leader = threadIdx.x % 128 == 0;
  int here = round % F::PLACES;
  unsigned char *mine = m.queries + (here * F::GROUPS + group) * F::QUERY_BYTES;
  float sums[F::WIDTH / 2], scores[F::KEYS / 2], old[2];
  unsigned weights[F::KEYS / 4];
  rows r = {{__int_as_float(0xff800000), __int_as_float(0xff800000)}, {0, 0}};
#pragma unroll
  for (int i = 0; i < F::WIDTH / 2; i++)
    sums[i] = 0;
  barrier_wait(&m.full_queries[here], round / F::PLACES % 2);
  barrier_wait(&m.full_keys[ring->slot], ring->parity);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  score<F>(scores, mine, m.keys + ring->slot * F::KEY_BYTES);
  wait_for<0>(scores);
  if (leader)
    barrier_arrive(&m.empty_keys[ring->slot]);
  hide<F>(scores, keys, (at.steps - 1) * F::KEYS, query);
  terms<F>(scores, &r, old, scale);
  pack_all<F>(weights, scores);
  for (int s = 1; s < at.steps; s++) {
    int before = ring->slot, phase = ring->parity;
    ring->next();
    barrier_wait(&m.full_keys[ring->slot], ring->parity);
    take_turn<F>(group);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    score<F>(scores, mine, m.keys + ring->slot * F::KEY_BYTES);
    barrier_wait(&m.full_values[before], phase);
    weigh<F>(sums, weights, m.values + before * F::KEY_BYTES);
    give_turn<F>(group);
    wait_for<1>(scores);
    if (leader)
      barrier_arrive(&m.empty_keys[ring->slot]);
    int key = (at.steps - 1 - s) * F::KEYS;
    if (F::CAUSAL && key + F::KEYS > at.first + group * 64)
      hide<F>(scores, keys, key, query);
    terms<F>(scores, &r, old, scale);
    wait_for<0>(sums);
    if (leader)
      barrier_arrive(&m.empty_values[before]);
#pragma unroll
    for (int i = 0; i < F::WIDTH / 2; i++)
      sums[i] *= old[i % 4 / 2];
    pack_all<F>(weights, scores);
  }
  if (leader)
    barrier_arrive(&m.empty_queries[here]);
  barrier_wait(&m.full_values[ring->slot], ring->parity);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  weigh<F>(sums, weights, m.values + ring->slot * F::KEY_BYTES);
  wait_for<0>(sums);
  if (leader)
    barrier_arrive(&m.empty_values[ring->slot]);
  ring->next();
  store<F>(sums, r, ty, m.answers + group * F::QUERY_BYTES, at, group);
}

template <class F> static __device__ void attend_all(memory_of<F> m, const CUtensorMap *ty, extent e, float scale) {
  int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / 128, 0) - 1, rounds = count_rounds(count_parts<F>(e));
  ring<F> r = {0, 0};
  if (F::GROUPS > 1 && group == F::GROUPS - 1)
    give_turn<F>(group); // the first one has the first turn
  for (int round = 0; round < rounds; round++)
    attend<F>(m, ty, place_of<F>(part_of(round), e), &r, round, group, e.keys, scale);
  if (group == 0)
    take_turn<F>(group); // the last one that was given
  if (threadIdx.x % 128 == 0)
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); // shared memory has been read
}

template <int WIDTH, int GROUPS, int KEYS, int STAGES, bool CAUSAL, int PLACES = 1>
__global__ void __launch_bounds__(128 + 128 * GROUPS, 1)
    attention(const __grid_constant__ CUtensorMap tq, const __grid_constant__ CUtensorMap tk,
              const __grid_constant__ CUtensorMap tv, const __grid_constant__ CUtensorMap ty, int heads, int shared,
              int queries, int keys, int all, int near, float scale) {
  typedef form<WIDTH, GROUPS, KEYS, STAGES, CAUSAL, PLACES> F;
  extern __shared__ unsigned char memory[];
  __shared__ unsigned long long of_queries[2][PLACES], barriers[4][STAGES];
  unsigned char *own = memory + (1024 - shared_address(memory) % 1024) % 1024;
  unsigned char *answers = own + PLACES * GROUPS * F::QUERY_BYTES, *rings = answers + GROUPS * F::QUERY_BYTES;
  memory_of<F> m = {own,           answers,       rings,       rings + STAGES * F::KEY_BYTES,
                    of_queries[0], of_queries[1], barriers[0], barriers[1],
                    barriers[2],   barriers[3]};
  extent e = {heads, shared, queries, keys, all, near};
  if (threadIdx.x == 0) {
    for (int p = 0; p < PLACES; p++) {
      barrier_init(&m.full_queries[p], 1);
      barrier_init(&m.empty_queries[p], GROUPS);
    }
    for (int s = 0; s < STAGES; s++) {
      barrier_init(&m.full_keys[s], 1);
      barrier_init(&m.full_values[s], 1);
      barrier_init(&m.empty_keys[s], GROUPS);
      barrier_init(&m.empty_values[s], GROUPS);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
#ifdef NO_SCALE
  scale = 1;
#endif
  if (threadIdx.x < 128) {
    if (GROUPS == 2)
      asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (GROUPS == 3)
      asm volatile("setmaxnreg.dec.sync.aligned.u32 32;");
    if (threadIdx.x == 0)
      bring<F>(&tq, &tk, &tv, m, e);
  } else {
    if (GROUPS == 2)
      asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    if (GROUPS == 3)
      asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
    attend_all<F>(m, &ty, e, scale * 1.4426950408889634f);
  }
}

static __device__ float wide(bf16 x) {
  return __uint_as_float((unsigned)x << 16);
}

enum { MOST = 16 };

// Any width: a warp a query, one pass over the keys with a running maximum.
__global__ void attention_plain(const bf16 *q, const bf16 *k, const bf16 *v, bf16 *y, int heads, int shared,
                                int queries, int keys, int d, float scale, long long rows) {
  long long row = blockIdx.x * 4ll + threadIdx.x / 32;
  int lane = threadIdx.x % 32;
  if (row >= rows)
    return;
  long long at = row / queries, batch = at / heads;
  int query = (int)(row % queries), head = (int)(at % heads);
#ifdef OTHER_HEADS
  long long first = (batch * shared + head % shared) * (long long)keys * d;
#else
  long long first = (batch * shared + head / (heads / shared)) * (long long)keys * d;
#endif
  float mine[MOST], sums[MOST], largest = __int_as_float(0xff800000), total = 0;
  for (int e = 0; e < MOST; e++) {
    mine[e] = lane + 32 * e < d ? wide(q[row * d + lane + 32 * e]) : 0;
    sums[e] = 0;
  }
#ifdef NO_SCALE
  scale = 1;
#endif
  int visible = query + 1;
  for (int j = 0; j < visible; j++) {
    float score = 0;
    for (int e = 0; e < MOST && lane + 32 * e < d; e++)
      score += mine[e] * wide(k[first + (long long)j * d + lane + 32 * e]);
    for (int step = 16; step > 0; step /= 2)
      score += __shfl_xor_sync(0xffffffffu, score, step);
    score *= scale;
    float next = fmaxf(largest, score), old = expf(largest - next), weight = expf(score - next);
#ifdef NO_RESCALE
    old = 1;
#endif
    largest = next;
    total = total * old + weight;
    for (int e = 0; e < MOST && lane + 32 * e < d; e++)
      sums[e] = sums[e] * old + weight * wide(v[first + (long long)j * d + lane + 32 * e]);
  }
  for (int e = 0; e < MOST && lane + 32 * e < d; e++)
    y[row * d + lane + 32 * e] = (bf16)pack(sums[e] / total, 0);
}
