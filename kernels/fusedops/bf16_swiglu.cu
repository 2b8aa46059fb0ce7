// Gated linear unit in bf16. A thread has EACH times eight numbers of both inputs under way at once. ONCE: what is read
// and written may leave the caches first (1), only what is read (2), or nothing (0).
// assay: task fusedops/swiglu/bf16_swiglu
// assay: tune EACH 1,2,4
// assay: tune BLOCK 256,64,128,512
// assay: tune FEW 0,1
// assay: tune ONCE 0,1,2
// assay: constraint FEW == 0 || EACH == 2 && BLOCK == 256
// assay: twin NO_SIGMOID expect wrong_value|low_precision|wrong_class -- the gate as it is
// assay: twin SWAPPED expect wrong_value|low_precision|wrong_class -- the other input is the gate
// assay: let words = y.count / 8
// assay: let few = FEW && words < 132 * 2048
// assay: let small = words < 132 * 256 ? 64 : 256
// assay: launch swiglu<1, 64> grid=ceil_div(words, 64) block=64 if=words > 0 && few && small == 64 args=g, u, y, words
// assay: launch swiglu<1, 256> grid=ceil_div(words, 256) block=256 if=few && small == 256 args=g, u, y, words
// assay: launch swiglu<EACH, BLOCK> grid=ceil_div(words, BLOCK * EACH) block=BLOCK if=words > 0 && !few args=g, u, y, words
// assay: launch swiglu_rest grid=1 block=32 if=y.count % 8 > 0 args=g, u, y, words * 8, y.count
#ifndef EACH
#define EACH 1
#define BLOCK 256
#define FEW 0
#define ONCE 0
#endif
typedef unsigned short bf16;

static __device__ float wide(bf16 x) {
  return __uint_as_float((unsigned)x << 16);
}

// Two numbers to nearest, ties to even; the first one in the lower half.
static __device__ unsigned narrow_two(float low, float high) {
  unsigned word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}

static __device__ bf16 narrow(float x) {
  return (bf16)narrow_two(x, 0);
}

// Eight numbers that lie side by side.
struct eight {
  float v[8];
};

static __device__ eight widen(uint4 words) {
  unsigned w[4] = {words.x, words.y, words.z, words.w};
  eight e;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    e.v[2 * i] = __uint_as_float(w[i] << 16);
    e.v[2 * i + 1] = __uint_as_float(w[i] & 0xffff0000u);
  }
  return e;
}

static __device__ uint4 narrowed(const eight &e) {
  return make_uint4(narrow_two(e.v[0], e.v[1]), narrow_two(e.v[2], e.v[3]), narrow_two(e.v[4], e.v[5]),
                    narrow_two(e.v[6], e.v[7]));
}

static __device__ float gated(float g, float u) {
#ifdef SWAPPED
  float kept = g;
  g = u;
  u = kept;
#endif
#ifdef NO_SIGMOID
  return g * u;
#else
  float part; // no .ftz: 1/x is a denormal number where the result need not be one
  asm("rcp.approx.f32 %0, %1;" : "=f"(part) : "f"(1 + __expf(-g)));
  return g * part * u;
#endif
}

static __device__ uint4 fetched(const uint4 *from) {
#if ONCE
  return __ldcs(from);
#else
  return __ldg(from);
#endif
}

static __device__ void put(uint4 *to, uint4 words) {
#if ONCE == 1
  __stcs(to, words);
#else
  *to = words;
#endif
}

template <int COUNT, int THREADS>
__global__ void __launch_bounds__(THREADS)
    swiglu(const uint4 *__restrict__ g, const uint4 *__restrict__ u, uint4 *__restrict__ y, long long words) {
  long long first = blockIdx.x * (long long)(THREADS * COUNT) + threadIdx.x;
  uint4 gates[COUNT], values[COUNT];
#pragma unroll
  for (int i = 0; i < COUNT; i++)
    if (first + i * THREADS < words) {
      gates[i] = fetched(g + first + i * THREADS);
      values[i] = fetched(u + first + i * THREADS);
    }
#pragma unroll
  for (int i = 0; i < COUNT; i++)
    if (first + i * THREADS < words) {
      eight a = widen(gates[i]), b = widen(values[i]);
#pragma unroll
      for (int j = 0; j < 8; j++)
        a.v[j] = gated(a.v[j], b.v[j]);
      put(y + first + i * THREADS, narrowed(a));
    }
}

// What is left of the last eight.
__global__ void swiglu_rest(const bf16 *g, const bf16 *u, bf16 *y, long long first, long long count) {
  long long i = first + threadIdx.x;
  if (i < count)
    y[i] = narrow(gated(wide(g[i]), wide(u[i])));
}
