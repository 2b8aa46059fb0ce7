// Scaled dot-product attention in single precision by tensor cores: every factor is the sum of two numbers of TF32, and
// three of the four products are added (the fourth is below the last bit).
// assay: task kernelbench/1/97
// assay: twin NO_MAX expect wrong_class|wrong_value -- no subtraction of the maximum
// assay: twin SCALE_BY_E expect wrong_value -- divides scores by E instead of its root
// assay: twin UNNORMALISED expect wrong_value -- forgets the division by the sum of weights
// A block has 128 queries of a head at a time. It first makes tiles of 128 x 128 of their scores and keeps their
// exponentials, the weights, in a strip of memory of its own that does not leave the L2 cache; then it multiplies the
// weights with v, 128 columns at a time. Exponents are taken relative to a query's largest score so far, or one that
// is at most 16 below it: only then are weights that were written before made smaller.
// Both products have an operand in registers, where it is split on the way (q; v, whose product is made transposed),
// and one in shared memory whose rows must run along the sum (k; the weights), wgmma m64n128k8. The tensor core ignores
// all but the larger part of the latter; three warps put the smaller part next to it. One thread keeps the copy engine
// busy, four slices of 32 terms ahead; two groups of four warps multiply, each 64 rows of a tile. Tensor cores truncate
// sums instead of rounding them. So a slice's smaller products come first, and its sum is added to the tile's by
// ordinary arithmetic. Where infinity or NaN came out, or a result of less than 2^-90, the parts cannot be trusted, and
// the element is computed again term by term.
// To the copy engine all heads are one tall matrix: what it brings of the next head belongs to scores and results that
// nobody writes, or is multiplied with weights of zero. It wants rows of a multiple of 16 bytes: other shapes go to a
// plain kernel.
// assay: let whole = E % 4 == 0
// assay: require whole || S <= 12288 -- the scores of a query must fit shared memory
// assay: let rows = B * H * S
// assay: let tiles = B * H * ceil_div(S, 128)
// assay: let blocks = min(tiles, 132)
// assay: let pitch = round_up(S, 32)
// assay: scratch weights float[blocks * 128 * pitch]
// assay: tensor_map tq of=q type=float dims=whole ? E : 1,whole ? rows : 1 strides=whole ? E : 4 box=32,128 \
//   swizzle=128 l2=256
// assay: tensor_map tk of=k type=float dims=whole ? E : 1,whole ? rows : 1 strides=whole ? E : 4 box=32,128 \
//   swizzle=128 l2=256
// assay: tensor_map tv of=v type=float dims=whole ? E : 1,whole ? rows : 1 strides=whole ? E : 4 box=32,32 \
//   swizzle=128 l2=256
// assay: tensor_map tw of=weights type=float dims=pitch,blocks * 128 box=32,128 swizzle=128 l2=256
// assay: launch attention grid=blocks block=384 shared=197632 if=whole args=tq, tk, tv, tw, q, k, v, weights, y, \
//   int(B * H), S, E
// assay: launch attention_plain grid=S,B * H block=256 shared=4 * S if=!whole args=q, k, v, y, S, E
#ifdef __CUDACC_RTC__
typedef struct alignas(64) CUtensorMap_st {
  unsigned long long opaque[16];
} CUtensorMap;
#else
#include <assay/cuda.h>
#include <cuda.h>
#endif

// A tile is 128 x 128, made of slices of 32 terms.
enum { TILE = 128, SLICE = 32, STAGES = 4, THREADS = 384, BLOCKS = 132, SPLITTERS = 96 };
enum { OPERAND_BYTES = TILE * SLICE * 4, BOX_BYTES = SLICE * 32 * 4, SHARED = STAGES * 3 * OPERAND_BYTES + 1024 };

#define INF __int_as_float(0x7f800000)

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

static __device__ void barrier_arrive(unsigned long long *barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
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

// The box at (x, y) of a tensor map, to shared memory; the barrier counts its bytes.
static __device__ void fetch_box(void *to, const CUtensorMap *map, int x, int y, unsigned long long *barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          shared_address(to)),
      "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier))
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

// The wgmma descriptor of a tile in shared memory: rows of 128 bytes of terms, swizzled as the copy engine does it.
// Groups of 8 rows are 1024 bytes apart.
static __device__ unsigned long long describe(const void *tile) {
  return (unsigned long long)((shared_address(tile) & 0x3ffff) >> 4) | 1ull << 16 |
         (unsigned long long)(1024 >> 4) << 32 | 1ull << 62;
}

// d (+)= 64 x 8 from registers times 8 x 128 from shared memory.
static __device__ void multiply(float (&d)[64], const unsigned int (&x)[4], unsigned long long rows, bool add) {
  asm volatile("{\n"
               ".reg .pred p;\n"
               "setp.ne.b32 p, %69, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {"
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
               "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
               "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
               "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
               "}, {%64, %65, %66, %67}, %68, p, 1, 1;\n"
               "}"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                 "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                 "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                 "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
                 "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
                 "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
                 "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                 "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
               : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(rows), "r"((int)add));
}

// Keeps the compiler from reading the sums before they are complete.
static __device__ void hold(float (&d)[64]) {
#pragma unroll
  for (int i = 0; i < 64; i++)
    asm volatile("" : "+f"(d[i])::"memory");
}

// To the nearest number of TF32, which keeps ten bits of the fraction.
static __device__ unsigned int to_tf32(float x) {
  unsigned int r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}

// What the tensor core leaves out when it reads a float as a number of TF32, rounded to one.
static __device__ float rest_of(float x) {
  return __uint_as_float(to_tf32(x - __uint_as_float(__float_as_uint(x) & 0xffffe000u)));
}

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

struct barriers {
  // The copy engine has brought a slice; its smaller part is there; nobody needs it any longer.
  unsigned long long full[STAGES], ready[STAGES], empty[STAGES];
  unsigned long long weights; // of a tile's queries are all in memory
};

struct shapes {
  int heads, S, E;
  __device__ int tiles_down() const { return (S + TILE - 1) / TILE; }
  __device__ int tiles() const { return heads * tiles_down(); }
  __device__ int head(int tile) const { return tile / tiles_down(); }
  __device__ int query(int tile) const { return tile % tiles_down() * TILE; }
  __device__ int pitch() const { // of weights
    return (S + SLICE - 1) / SLICE * SLICE;
  }
};

// Operands in shared memory, STAGES slices of each: one that goes to registers, one that stays, its smaller part.
struct operands {
  unsigned char *a, *b, *small;
};

static __device__ void bring_slices(const CUtensorMap *tq, const CUtensorMap *tk, const CUtensorMap *tv,
                                    const CUtensorMap *tw, const operands &to, barriers &bar, const shapes &is) {
  struct ring at = {0, 1};
  int parity = 0;
  for (int tile = (int)blockIdx.x; tile < is.tiles(); tile += (int)gridDim.x, parity ^= 1) {
    const int first = is.head(tile) * is.S;
    for (int key = 0; key < is.S; key += TILE)
      for (int e = 0; e < is.E; e += SLICE, at.next()) {
        barrier_wait(&bar.empty[at.slot], at.parity);
        barrier_expect(&bar.full[at.slot], 2 * OPERAND_BYTES);
        fetch_box(to.a + at.slot * OPERAND_BYTES, tq, e, first + is.query(tile), &bar.full[at.slot]);
        fetch_box(to.b + at.slot * OPERAND_BYTES, tk, e, first + key, &bar.full[at.slot]);
      }
    for (int e = 0; e < is.E; e += TILE)
      for (int key = 0; key < is.S; key += SLICE, at.next()) {
        barrier_wait(&bar.empty[at.slot], at.parity);
        barrier_expect(&bar.full[at.slot], 2 * OPERAND_BYTES);
        for (int i = 0; i < TILE / 32; i++)
          fetch_box(to.a + at.slot * OPERAND_BYTES + i * BOX_BYTES, tv, e + i * 32, first + key, &bar.full[at.slot]);
        if (e == 0 && key == 0) {
          barrier_wait(&bar.weights, parity);
          asm volatile("fence.proxy.async;" ::: "memory"); // they were written by another way
        }
        fetch_box(to.b + at.slot * OPERAND_BYTES, tw, key, (int)blockIdx.x * TILE, &bar.full[at.slot]);
      }
  }
}

static __device__ void split_slices(const operands &of, barriers &bar, const shapes &is) {
  const int slices = is.tiles_down() * ((is.E + SLICE - 1) / SLICE) + (is.E + TILE - 1) / TILE * (is.pitch() / SLICE);
  struct ring at = {0, 0};
  for (int tile = (int)blockIdx.x; tile < is.tiles(); tile += (int)gridDim.x)
    for (int slice = 0; slice < slices; slice++, at.next()) {
      barrier_wait(&bar.full[at.slot], at.parity);
      const float4 *from = (const float4 *)(of.b + at.slot * OPERAND_BYTES);
      float4 *to = (float4 *)(of.small + at.slot * OPERAND_BYTES);
#pragma unroll 4
      for (int i = (int)threadIdx.x - 32; i < OPERAND_BYTES / 16; i += SPLITTERS) {
        float4 v = from[i];
        to[i] = make_float4(rest_of(v.x), rest_of(v.y), rest_of(v.z), rest_of(v.w));
      }
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); // the tensor core reads through the async proxy
      __syncwarp();
      if (threadIdx.x % 32 == 0)
        barrier_arrive(&bar.ready[at.slot]);
    }
}

// The parts of four numbers of each of a slice's steps, as the tensor core wants them in a thread's registers.
struct parts {
  unsigned int large[SLICE / 8][4], small[SLICE / 8][4];
  __device__ __forceinline__ void set(int step, int i, float v) {
    large[step][i] = to_tf32(v);
    small[step][i] = __float_as_uint(v - __uint_as_float(large[step][i]));
  }
};

// sum += 64 x 32 from registers times 32 x 128 from the slice at hand, which is given back.
static __device__ __forceinline__ void add_slice(float (&sum)[64], float (&part)[64], const parts &a,
                                                 const operands &of, barriers &bar, const ring &at) {
  barrier_wait(&bar.ready[at.slot], at.parity);
  unsigned long long large_b = describe(of.b + at.slot * OPERAND_BYTES);
  unsigned long long small_b = describe(of.small + at.slot * OPERAND_BYTES);
  warpgroup_fence();
#pragma unroll
  for (int step = 0; step < SLICE / 8; step++) {
    multiply(part, a.small[step], large_b + step * (32 >> 4), step > 0);
    multiply(part, a.large[step], small_b + step * (32 >> 4), true);
  }
#pragma unroll
  for (int step = 0; step < SLICE / 8; step++)
    multiply(part, a.large[step], large_b + step * (32 >> 4), true);
  warpgroup_commit();
  warpgroup_wait<0>(); // the other group has work meanwhile
  if (threadIdx.x % 32 == 0)
    barrier_arrive(&bar.empty[at.slot]);
  hold(part);
#pragma unroll
  for (int i = 0; i < 64; i++)
    sum[i] += part[i];
}

// One score, term by term.
static __device__ __noinline__ float score(const float *q, const float *k, int E) {
  float sum = 0;
  for (int e = 0; e < E; e++)
    sum += q[e] * k[e];
  return sum;
}

// One result, term by term; the weights' sum is `total`.
static __device__ __noinline__ float result(const float *weights, const float *v, int S, int E, float total) {
  float sum = 0;
  for (int key = 0; key < S; key++)
    sum += __ldcg(&weights[key]) / total * v[(long long)key * E];
  return sum;
}

static __device__ bool finite(float x) {
  return fabsf(x) <= 3.4028235e38f;
}

// What a query's weights are relative to, and the sum of those that this thread made.
struct softmax {
  float top, total;
};

// Makes weights of a query's scores with keys key + 8 * i and key + 8 * i + 1; those in four neighbouring threads are
// its scores with 128 keys. The query is missing from the last tile of a head if `to` is NULL.
static __device__ __forceinline__ void keep_weights(float (&sum)[64], int half, softmax &of, float *to, const float *q,
                                                    const float *k, int key, const shapes &is, float scale) {
  float max = -INF;
#pragma unroll
  for (int i = 0; i < 32; i++) {
    int n = key + i / 2 * 8 + i % 2;
    float &s = sum[i / 2 * 4 + half * 2 + i % 2];
    if (!finite(s) && to && n < is.S)
      s = score(q, k + (long long)n * is.E, is.E);
    s = n < is.S ? s * scale : -INF;
    max = fmaxf(max, s);
  }
  max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 1));
  max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 2));
#ifdef NO_MAX
  max = -INF;
#endif
  if (max > of.top + 16) {
    float factor = expf(of.top - max);
    for (int n = key % 8; to && n < key / TILE * TILE; n += 8) { // this thread wrote them
      to[n] *= factor;
      to[n + 1] *= factor;
    }
    of.total *= factor;
    of.top = max;
  }
  float top = of.top > -INF ? of.top : 0;
#pragma unroll
  for (int i = 0; i < 32; i += 2) {
    int n = key + i / 2 * 8;
    float first = expf(sum[i / 2 * 4 + half * 2] - top), second = expf(sum[i / 2 * 4 + half * 2 + 1] - top);
    of.total += first + second;
    if (to && n < is.pitch())
      *(float2 *)&to[n] = make_float2(first, second);
  }
}

// The weights of a tile's queries with all keys, in memory, and their sums.
static __device__ __forceinline__ void make_weights(float (&sum)[64], float (&part)[64], int tile, const float *q,
                                                    const float *k, float *weights, float *totals, const operands &of,
                                                    barriers &bar, ring &at, const shapes &is, float scale) {
  int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32 - 4;
  int row = lane / 4, term = lane % 4; // of the 16 queries of a warp a thread has this one and the eighth after it
  struct softmax rows[2] = {{-INF, 0}, {-INF, 0}};
  for (int key = 0; key < is.S; key += TILE) {
#pragma unroll
    for (int i = 0; i < 64; i++)
      sum[i] = 0;
    for (int e = 0; e < is.E; e += SLICE, at.next()) {
      struct parts a;
      barrier_wait(&bar.full[at.slot], at.parity);
      // Rows of 128 bytes; the eight rows that are read at the same time have each piece of 16 bytes in another place.
      const unsigned char *from = of.a + at.slot * OPERAND_BYTES + (warp * 16 + row) * 128 + term * 4;
#pragma unroll
      for (int step = 0; step < SLICE / 8; step++)
#pragma unroll
        for (int i = 0; i < 4; i++)
          a.set(step, i, *(const float *)(from + i % 2 * 8 * 128 + (((step * 2 + i / 2) ^ row) << 4)));
      add_slice(sum, part, a, of, bar, at);
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
      int m = warp * 16 + row + half * 8;
      bool there = is.query(tile) + m < is.S;
      keep_weights(sum, half, rows[half], there ? weights + (long long)m * is.pitch() : NULL,
                   q + (long long)(is.query(tile) + m) * is.E, k, key + 2 * term, is, scale);
    }
  }
#pragma unroll
  for (int half = 0; half < 2; half++) {
    float total = rows[half].total;
    total += __shfl_xor_sync(0xffffffffu, total, 1);
    total += __shfl_xor_sync(0xffffffffu, total, 2);
#ifdef UNNORMALISED
    total = 1;
#endif
    if (term == 0)
      totals[warp * 16 + row + half * 8] = total;
  }
  __threadfence();
  asm volatile("fence.proxy.async;" ::: "memory"); // the copy engine reads by another way
  __syncwarp();
  if (lane == 0)
    barrier_arrive(&bar.weights);
}

// Results of a tile's queries, made of their weights.
static __device__ __forceinline__ void make_results(float (&sum)[64], float (&part)[64], int tile, const float *v,
                                                    float *y, const float *weights, const float *totals,
                                                    const operands &of, barriers &bar, ring &at, const shapes &is) {
  int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32 - 4;
  // A warp has 16 columns, half a box; a thread has two neighbours, in one half of the piece `piece` of 16 bytes of the
  // box's rows. Which one is chosen so that sixteen threads that load at the same time meet all banks, after the copy
  // engine's swizzle.
  int row = lane / 4, term = lane % 4, piece = warp % 2 * 2 + row / 4 + row / 2 % 2 * 4, half = row % 2;
  for (int e0 = 0; e0 < is.E; e0 += TILE) {
#pragma unroll
    for (int i = 0; i < 64; i++)
      sum[i] = 0;
    for (int key = 0; key < is.S; key += SLICE, at.next()) {
      struct parts a;
      barrier_wait(&bar.full[at.slot], at.parity);
      const unsigned char *from = of.a + at.slot * OPERAND_BYTES + warp / 2 * BOX_BYTES + half * 8;
#pragma unroll
      for (int step = 0; step < SLICE / 8; step++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
          int t = term + 4 * h;
          float2 pair = *(const float2 *)(from + (step * 8 + t) * 128 + ((piece ^ t) << 4));
          a.set(step, 2 * h, pair.x);
          a.set(step, 2 * h + 1, pair.y);
        }
      add_slice(sum, part, a, of, bar, at);
    }
    int e = e0 + warp / 2 * 32 + piece * 4 + half * 2;
#pragma unroll
    for (int j = 0; j < 64; j += 4)
#pragma unroll
      for (int i = 0; i < 2; i++) {
        int m = 2 * j + 2 * term + i;
        if (is.query(tile) + m >= is.S || e >= is.E)
          continue;
        float total = totals[m], factor = 1 / total, first = sum[j + i], second = sum[j + 2 + i];
        const float *w = weights + (long long)m * is.pitch();
        first = finite(first) && fabsf(first) >= 0x1p-90f ? first * factor : result(w, v + e, is.S, is.E, total);
        second =
            finite(second) && fabsf(second) >= 0x1p-90f ? second * factor : result(w, v + e + 1, is.S, is.E, total);
        *(float2 *)&y[(long long)(is.query(tile) + m) * is.E + e] = make_float2(first, second);
      }
  }
}

static __device__ void make_tiles(const float *q, const float *k, const float *v, float *y, float *weights,
                                  float *totals, const operands &of, barriers &bar, const shapes &is) {
#ifdef SCALE_BY_E
  float scale = 1 / (float)is.E;
#else
  float scale = 1 / sqrtf((float)is.E);
#endif
  struct ring at = {0, 0};
  float sum[64], part[64];
  int parity = 0;
  weights += (long long)blockIdx.x * TILE * is.pitch();
  for (int tile = (int)blockIdx.x; tile < is.tiles(); tile += (int)gridDim.x, parity ^= 1) {
    const long long head = (long long)is.head(tile) * is.S * is.E;
    make_weights(sum, part, tile, q + head, k + head, weights, totals, of, bar, at, is, scale);
    barrier_wait(&bar.weights, parity); // the other group's sums are there too
    make_results(sum, part, tile, v + head, y + head, weights, totals, of, bar, at, is);
    asm volatile("bar.sync 1, 256;" ::: "memory"); // both groups are done with weights and sums
  }
}

__global__ void __launch_bounds__(THREADS, 1)
    attention(const __grid_constant__ CUtensorMap tq, const __grid_constant__ CUtensorMap tk,
              const __grid_constant__ CUtensorMap tv, const __grid_constant__ CUtensorMap tw, const float *q,
              const float *k, const float *v, float *weights, float *y, int heads, int S, int E) {
  extern __shared__ unsigned char memory[];
  __shared__ barriers bar;
  __shared__ float totals[TILE];
  const shapes is = {heads, S, E};
  operands at;
  at.a = memory + (1024 - shared_address(memory) % 1024) % 1024;
  at.b = at.a + STAGES * OPERAND_BYTES;
  at.small = at.b + STAGES * OPERAND_BYTES;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; s++) {
      barrier_init(&bar.full[s], 1);
      barrier_init(&bar.ready[s], SPLITTERS / 32);
      barrier_init(&bar.empty[s], 8); // warps that multiply
    }
    barrier_init(&bar.weights, 8);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0)
      bring_slices(&tq, &tk, &tv, &tw, at, bar, is);
    else if (threadIdx.x >= 32)
      split_slices(at, bar, is);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    make_tiles(q, k, v, y, weights, totals, at, bar, is);
  }
}

// Any shape: one query.
__global__ void __launch_bounds__(256)
    attention_plain(const float *__restrict__ q, const float *__restrict__ k, const float *__restrict__ v,
                    float *__restrict__ y, int S, int E) {
  extern __shared__ float query_weights[];
  const long long head = (long long)blockIdx.y * S * E, row = head + (long long)blockIdx.x * E;
#ifdef SCALE_BY_E
  float scale = 1 / (float)E;
#else
  float scale = 1 / sqrtf((float)E);
#endif
  for (int key = (int)threadIdx.x / 32; key < S; key += 8) {
    float sum = 0;
    for (int e = (int)threadIdx.x % 32; e < E; e += 32)
      sum += q[row + e] * k[head + (long long)key * E + e];
    for (int step = 16; step > 0; step /= 2)
      sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0)
      query_weights[key] = sum * scale;
  }
  __syncthreads();
  float max = -INF, total = 0;
  for (int key = 0; key < S; key++)
    max = fmaxf(max, query_weights[key]);
#ifdef NO_MAX
  max = 0;
#endif
  __syncthreads(); // everyone knows the maximum
  for (int key = (int)threadIdx.x; key < S; key += 256)
    query_weights[key] = expf(query_weights[key] - max);
  __syncthreads();
  for (int key = 0; key < S; key++)
    total += query_weights[key];
#ifdef UNNORMALISED
  total = 1;
#endif
  for (int e = (int)threadIdx.x; e < E; e += 256) {
    float sum = 0;
    for (int key = 0; key < S; key++)
      sum += query_weights[key] * v[head + (long long)key * E + e];
    y[row + e] = sum / total;
  }
}

#ifndef __CUDACC_RTC__
typedef CUresult encode_function(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                                 const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,
                                 CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

// A tensor map of a dense matrix, in boxes of 32 columns.
static CUtensorMap encode(encode_function *function, const float *data, int rows, int columns, unsigned int box_rows) {
  cuuint64_t dims[] = {(cuuint64_t)columns, (cuuint64_t)rows}, strides[] = {(cuuint64_t)columns * 4};
  cuuint32_t box[] = {32, box_rows}, steps[] = {1, 1};
  CUtensorMap map;
  function(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, (void *)data, dims, strides, box, steps,
           CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
           CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return map;
}

extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const int64_t *dims = args->inputs[0].dims;
  int heads = (int)(dims[0] * dims[1]), S = (int)dims[2], E = (int)dims[3];
  const float *q = (const float *)args->inputs[0].data, *k = (const float *)args->inputs[1].data;
  const float *v = (const float *)args->inputs[2].data;
  float *y = (float *)args->outputs[0].data, *weights;
  if (E % 4 != 0) {
    dim3 grid((unsigned int)S, (unsigned int)heads);
    attention_plain<<<grid, 256, (size_t)S * sizeof(float), stream>>>(q, k, v, y, S, E);
    return;
  }
  void *function = NULL;
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
  encode_function *map = (encode_function *)function;
  int tiles = heads * ((S + TILE - 1) / TILE), blocks = tiles < BLOCKS ? tiles : BLOCKS;
  int pitch = (S + SLICE - 1) / SLICE * SLICE;
  cudaMallocAsync((void **)&weights, (size_t)blocks * TILE * (size_t)pitch * sizeof(float), stream);
  CUtensorMap tq = encode(map, q, heads * S, E, TILE), tk = encode(map, k, heads * S, E, TILE);
  CUtensorMap tv = encode(map, v, heads * S, E, SLICE), tw = encode(map, weights, blocks * TILE, pitch, TILE);
  cudaFuncSetAttribute(attention, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED);
  attention<<<(unsigned int)blocks, THREADS, SHARED, stream>>>(tq, tk, tv, tw, q, k, v, weights, y, heads, S, E);
  cudaFreeAsync(weights, stream);
}
#endif
