// Convolution of images with 3 x 3 kernels.
// assay: task kernelbench/1/63
// assay: twin PUBLISHED_SHAPE expect wrong_value|out_of_bounds -- takes the width of the published shape for granted
// A product of matrices that are never made, on the tensor cores of Hopper (wgmma): a block, which is one warp group,
// makes 64 channels of 128 outputs, counted through the rows of an image as if these were as wide as the input with its
// padding, so that few are wasted. All inputs of 8 channels that the block's taps reach lie in shared memory, four
// channels of a position side by side: without swizzle, a tap is only another address of the operand. The weights come
// from registers, where a first launch has put them in order. Numbers are split into two of tf32 and multiplied three
// times, which keeps single precision; the sums of three taps are added outside of the tensor cores, which do not
// round: 64 outputs at a time, while the products of the other 64 go on. Two blocks share an SM, one of which
// multiplies while the other begins or ends. What limits it is the rate of wgmma.
// assay: let tiles = ceil_div((y.2 - 1) * (y.3 + 2) + y.3, 128)
// assay: let blocks = ceil_div(CO, 64)
// assay: let total = (blocks * ceil_div(CI, 8) * 9 + 3) * 512
// assay: scratch arranged float[total]
// assay: launch arrange grid=ceil_div(total, 256) block=256 args=w, arranged, CI, CO, total
// assay: launch convolve grid=tiles * blocks,1,N block=128 shared=51488 \
//   args=x, w, arranged, y, {int(CI), int(CO), int(H), int(W), int(y.2), int(y.3)}, blocks
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { KH = 3, KW = 3 };       // taps
enum { PAD_H = 0, PAD_W = 0 }; // zeros before the input
enum { CHANNELS = 8 };         // of the input in a chunk
enum { PART = 3 };             // steps of eight terms, a tap each, that the tensor cores add up

enum {
  THREADS = 128,
  BLOCK_M = 64,    // output channels of a block
  POSITIONS = 128, // of a block
  HALF = POSITIONS / 2,
  TAPS = KH * KW,
  SPAN = POSITIONS + KW - 1, // positions that a row of taps reaches
  PATCH = KH * SPAN,
  QUADS = CHANNELS / 4,
  TURNS = 2,                                        // patches in shared memory
  SLICES = TAPS / PART,                             // parts of a chunk
  ROUNDS = (QUADS * PATCH + THREADS - 1) / THREADS, // of quads of channels that a thread brings for a chunk,
  PER_SLICE = (ROUNDS + SLICES - 1) / SLICES,       // and for a slice
  STAGE_PITCH = POSITIONS + 8,
};
static_assert(TAPS % PART == 0, "slices are whole");

struct sizes {
  int channels, features; // of the input and of the output
  int h, w, oh, ow;
};

union memory {
  struct {
    // As wgmma wants them: four numbers of the sum's dimension side by side, then the next position.
    float4 patch[TURNS][2][QUADS][PATCH]; // [turn][big, small]
    int source[PATCH]; // where an element of the patch lies in its channel of the input, -1 for zeros around it
  };
  float stage[THREADS / 32][16 * STAGE_PITCH]; // at the end, for the sums of a warp
};
static_assert(sizeof(union memory) == 51488, "as the launch line says");

// Weights of a slice as a lane of wgmma wants them, split.
struct terms {
  unsigned int big[PART][4], small[PART][4];
};

// What a block works at: the image, the first output channel, the first position, and how wide rows of positions are.
struct place {
  int n, feature, first, width;
};

// Brings the weights into the order [block][chunk][tap][warp][lane][4], zeros where channels end and
// for a slice after the last one.
__global__ void arrange(const float *__restrict__ w, float *__restrict__ to, int channels, int features, int total) {
  int at = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (at >= total)
    return;
  int chunks = (channels + CHANNELS - 1) / CHANNELS;
  int part = at % 4, lane = at / 4 % 32, warp = at / 128 % 4, rest = at / (BLOCK_M * 8);
  int row = warp * 16 + lane / 4 + part % 2 * 8, k = lane % 4 + part / 2 * 4;
  int tap = rest % TAPS, chunk = rest / TAPS % chunks, feature = rest / (TAPS * chunks) * BLOCK_M + row;
  int channel = chunk * CHANNELS + k;
  bool inside = feature < features && channel < channels;
  to[at] = inside ? w[(feature * channels + channel) * TAPS + tap] : 0;
}

static __device__ struct place place_of_block(struct sizes s, int blocks) {
  int block = (int)blockIdx.x;
  return {(int)blockIdx.z, block % blocks * BLOCK_M, block / blocks * POSITIONS, s.ow + KW - 1};
}

static __device__ void fill_source(int *source, struct place at, struct sizes s) {
  for (int i = (int)threadIdx.x; i < PATCH; i += THREADS) {
    int position = at.first + i / SPAN * at.width + i % SPAN;
    int h = position / at.width - PAD_H, w = position % at.width - PAD_W;
    bool inside = w >= 0 && w < s.w && h >= 0 && h < s.h;
#ifdef PUBLISHED_SHAPE
    source[i] = inside ? h * 1024 + w : -1;
#else
    source[i] = inside ? h * s.w + w : -1;
#endif
  }
}

// x = big + small, both of which tf32 holds, but for 2^-22 of x. A tensor core ignores the low bits of `small`.
static __device__ void split(float x, float *big, float *small) {
  *big = __uint_as_float((__float_as_uint(x) + 0x1000) & 0xffffe000);
  *small = x - *big;
}

static __device__ void split(float4 x, float4 *big, float4 *small) {
  split(x.x, &big->x, &small->x);
  split(x.y, &big->y, &small->y);
  split(x.z, &big->z, &small->z);
  split(x.w, &big->w, &small->w);
}

// Four channels of element i % PATCH of the patch; `left` channels remain in the input.
static __device__ float4 load_quad(const float *x, const int *source, int i, int left, long long plane) {
  int quad = i / PATCH * 4, from = i < QUADS * PATCH ? source[i % PATCH] : -1;
  x += quad * plane + from;
  float4 v = make_float4(0, 0, 0, 0);
  if (from >= 0 && quad < left)
    v.x = __ldg(x);
  if (from >= 0 && quad + 1 < left)
    v.y = __ldg(x + plane);
  if (from >= 0 && quad + 2 < left)
    v.z = __ldg(x + 2 * plane);
  if (from >= 0 && quad + 3 < left)
    v.w = __ldg(x + 3 * plane);
  return v;
}

static __device__ void store_quad(float4 (*to)[QUADS][PATCH], int i, float4 value) {
  float4 big, small;
  split(value, &big, &small);
  if (i < QUADS * PATCH)
    to[0][i / PATCH][i % PATCH] = big, to[1][i / PATCH][i % PATCH] = small;
}

static __device__ void load_weights(float4 (&v)[PART], const float4 *from) {
#pragma unroll
  for (int i = 0; i < PART; i++)
    v[i] = __ldg(&from[i * THREADS + (int)threadIdx.x]);
}

static __device__ void split_weights(struct terms &to, const float4 (&v)[PART]) {
#pragma unroll
  for (int i = 0; i < PART; i++) {
    float4 big, small;
    split(v[i], &big, &small);
    to.big[i][0] = __float_as_uint(big.x), to.small[i][0] = __float_as_uint(small.x);
    to.big[i][1] = __float_as_uint(big.y), to.small[i][1] = __float_as_uint(small.y);
    to.big[i][2] = __float_as_uint(big.z), to.small[i][2] = __float_as_uint(small.z);
    to.big[i][3] = __float_as_uint(big.w), to.small[i][3] = __float_as_uint(small.w);
  }
}

// What was written to shared memory becomes visible to wgmma, which reads by another way.
static __device__ void publish() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

static __device__ void products_begin() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ void products_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until all products but those of the last N commits are made.
template <int N> static __device__ void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

// Sums are not to be read before they are complete, ...
static __device__ void hold(float (&d)[32]) {
#pragma unroll
  for (int i = 0; i < 32; i++)
    asm volatile("" : "+f"(d[i])::"memory");
}

// ... nor terms to be overwritten.
static __device__ void hold(struct terms &t) {
#pragma unroll
  for (int i = 0; i < PART; i++)
#pragma unroll
    for (int j = 0; j < 4; j++)
      asm volatile("" : "+r"(t.big[i][j]), "+r"(t.small[i][j])::"memory");
}

// An operand without swizzle: eight positions of 16 bytes after one another, the next eight 128 bytes on, the second
// half of the sum's dimension a quad on. A position on, the number is greater by one.
static __device__ unsigned long long describe(const float4 *at) {
  unsigned long long address = (unsigned int)__cvta_generic_to_shared(at);
  return (address & 0x3ffff) >> 4 | (unsigned long long)PATCH << 16 | (unsigned long long)(128 >> 4) << 32;
}

// 64 x 64 products of eight terms, added to `sum` or put there.
static __device__ void wgmma(float (&sum)[32], const unsigned int (&a)[4], unsigned long long b, int add) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %37, 0; wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 "
               "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, "
               "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, %36, p, 1, 1; }"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]),
                 "+f"(sum[7]), "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]), "+f"(sum[12]), "+f"(sum[13]),
                 "+f"(sum[14]), "+f"(sum[15]), "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]), "+f"(sum[19]),
                 "+f"(sum[20]), "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23]), "+f"(sum[24]), "+f"(sum[25]),
                 "+f"(sum[26]), "+f"(sum[27]), "+f"(sum[28]), "+f"(sum[29]), "+f"(sum[30]), "+f"(sum[31])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

// Begins the products of a slice with the positions that `patch` describes. Tensor cores do not round sums, so these
// begin at zero, and the small products come first.
static __device__ void multiply(float (&part)[32], const struct terms &weights, unsigned long long patch, int slice) {
  products_begin();
#pragma unroll
  for (int pass = 0; pass < 3; pass++) // small times big, big times small, big times big
#pragma unroll
    for (int i = 0; i < PART; i++) {
      int tap = slice * PART + i, from = tap / KW * SPAN + tap % KW + (pass == 1 ? QUADS * PATCH : 0);
      wgmma(part, pass == 0 ? weights.small[i] : weights.big[i], patch + (unsigned int)from, pass > 0 || i > 0);
    }
  products_commit();
}

// Adds products that are complete. It does so at once: their registers have no room for a second set.
static __device__ void add(float (&sum)[32], float (&part)[32]) {
  hold(part);
#pragma unroll
  for (int j = 0; j < 32; j++)
    sum[j] += part[j];
  hold(sum);
}

// An output by the definition. Where all outputs of a warp are tiny, tf32 has lost digits of subnormal inputs; where a
// sum has few terms, the 2^-22 of a product is more than rounding in single precision would cost.
static __device__ float by_definition(const float *x, const float *w, struct sizes s, int feature, int oh, int ow) {
  float sum = 0;
  const long long plane = (long long)s.h * s.w;
  for (int c = 0; c < s.channels; c++)
    for (int tap = 0; tap < TAPS; tap++) {
      int from_h = oh - PAD_H + tap / KW, from_w = ow - PAD_W + tap % KW;
      long long weight = ((long long)feature * s.channels + c) * TAPS + tap;
      if (from_h >= 0 && from_h < s.h && from_w >= 0 && from_w < s.w)
        sum += x[c * plane + (long long)from_h * s.w + from_w] * w[weight];
    }
  return sum;
}

static __device__ float largest_of(const float (&sum)[32]) {
  float largest = 0;
#pragma unroll
  for (int j = 0; j < 32; j++)
    largest = fmaxf(largest, fabsf(sum[j]));
  return largest;
}

// Puts half of a warp's sums where its lanes will find neighbours.
static __device__ void put(float *stage, const float (&sum)[32]) {
  const int lane = (int)threadIdx.x % 32;
#pragma unroll
  for (int j = 0; j < 32; j += 4) {
    float *to = stage + lane / 4 * STAGE_PITCH + j * 2 + lane % 4 * 2;
    *(float2 *)to = make_float2(sum[j], sum[j + 1]);
    *(float2 *)(to + 8 * STAGE_PITCH) = make_float2(sum[j + 2], sum[j + 3]);
  }
}

// Writes the sums of a warp, by way of shared memory so that its lanes write neighbours.
static __device__ void store(const float (&sum)[2][32], float *stage, const float *x, const float *w, float *y,
                             struct place at, struct sizes s) {
  const int lane = (int)threadIdx.x % 32, feature = at.feature + (int)threadIdx.x / 32 * 16;
  const long long plane = (long long)s.oh * s.ow;
  const bool few = s.channels * TAPS < 64;
  const bool exactly = few || __all_sync(0xffffffff, largest_of(sum[0]) < 0x1p-60f && largest_of(sum[1]) < 0x1p-60f);
  put(stage, sum[0]);
  put(stage + HALF, sum[1]);
  __syncwarp();
  y += (long long)at.n * s.features * plane;
#pragma unroll
  for (int j = 0; j < POSITIONS; j += 32) {
    int position = at.first + j + lane, oh = position / at.width, ow = position % at.width;
    bool inside = oh < s.oh && ow < s.ow;
    for (int i = 0; i < 16 && feature + i < s.features; i++) {
      float value = stage[i * STAGE_PITCH + j + lane];
      if (inside && exactly)
        value = by_definition(x, w, s, feature + i, oh, ow);
      if (inside)
        __stcs(&y[(feature + i) * plane + (long long)oh * s.ow + ow], value);
    }
  }
}

// Makes the products of a chunk. While those of 64 positions are under way, those of the 64 before are added, and the
// next slice's weights and a part of the next chunk's patch are brought; `now` begins and ends with the weights of a
// chunk's first slice.
static __device__ __forceinline__ void one_chunk(float (&sum)[2][32], struct terms &now, union memory *m, int turn,
                                                 const float *x, const float4 *weights, int left, long long plane) {
  const unsigned long long patch = describe(m->patch[turn][0][0]);
  float4(*to)[QUADS][PATCH] = m->patch[turn + 1 < TURNS ? turn + 1 : 0];
  float part[2][32];
  struct terms terms[2];
  terms[0] = now;
#pragma unroll
  for (int slice = 0; slice < SLICES; slice++) {
    float4 coming[PART], quads[PER_SLICE];
    int first = slice * PER_SLICE * THREADS + (int)threadIdx.x;
    asm volatile("" : "+r"(first)); // places are not to be kept in registers from chunk to chunk
    multiply(part[0], terms[slice % 2], patch, slice);
    load_weights(coming, weights + slice * PART * THREADS);
#pragma unroll
    for (int j = 0; j < PER_SLICE; j++)
      quads[j] = load_quad(x, m->source, first + j * THREADS, left, plane);
    if (slice > 0) {
      products_wait<1>();
      hold(terms[(slice + 1) % 2]);
      add(sum[1], part[1]);
    }
    multiply(part[1], terms[slice % 2], patch + HALF, slice);
    products_wait<1>();
    add(sum[0], part[0]);
    split_weights(terms[(slice + 1) % 2], coming);
    if (left > 0)
#pragma unroll
      for (int j = 0; j < PER_SLICE; j++)
        store_quad(to, first + j * THREADS, quads[j]);
  }
  products_wait<0>();
  hold(terms[(SLICES + 1) % 2]);
  add(sum[1], part[1]);
  now = terms[SLICES % 2];
}

__global__ void __launch_bounds__(THREADS, 2)
    convolve(const float *__restrict__ x, const float *__restrict__ w, const float *__restrict__ arranged,
             float *__restrict__ y, struct sizes s, int blocks) {
  extern __shared__ __align__(128) float4 shared[];
  union memory *m = (union memory *)shared;
  const struct place at = place_of_block(s, blocks);
  const int thread = (int)threadIdx.x;
  const int chunks = (s.channels + CHANNELS - 1) / CHANNELS;
  const long long plane = (long long)s.h * s.w;
  const float4 *weights = (const float4 *)arranged + (long long)(at.feature / BLOCK_M) * chunks * TAPS * THREADS;
  x += at.n * (long long)s.channels * plane;
  fill_source(m->source, at, s);
  __syncthreads();
  float4 first[PART], quads[ROUNDS];
  load_weights(first, weights);
#pragma unroll
  for (int i = 0; i < ROUNDS; i++)
    quads[i] = load_quad(x, m->source, i * THREADS + thread, s.channels, plane);
  struct terms terms;
  split_weights(terms, first);
#pragma unroll
  for (int i = 0; i < ROUNDS; i++)
    store_quad(m->patch[0], i * THREADS + thread, quads[i]);
  float sum[2][32] = {};
  for (int chunk = 0, turn = 0; chunk < chunks; chunk++) {
    publish();
    __syncthreads();
    // With a chunk's last slice come the next one's first weights; after the last chunk some come too and are not used.
    const int done = (chunk + 1) * CHANNELS;
    one_chunk(sum, terms, m, turn, x + done * plane, weights + (chunk * TAPS + PART) * THREADS, s.channels - done,
              plane);
    turn = turn + 1 < TURNS ? turn + 1 : 0;
  }
  __syncthreads();
  store(sum, m->stage[thread / 32], x, w, y, at, s);
}

#ifndef __CUDACC_RTC__
static int ceil_div(long long a, long long b) {
  return (int)((a + b - 1) / b);
}

extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  const float *x = (const float *)args->inputs[0].data, *w = (const float *)args->inputs[1].data;
  float *y = (float *)args->outputs[0].data, *arranged;
  struct sizes s = {(int)in[1], (int)out[1], (int)in[2], (int)in[3], (int)out[2], (int)out[3]};
  int tiles = ceil_div((s.oh - 1) * (long long)(s.ow + KW - 1) + s.ow, POSITIONS),
      blocks = ceil_div(s.features, BLOCK_M);
  int total = (blocks * ceil_div(s.channels, CHANNELS) * TAPS + PART) * BLOCK_M * 8;
  cudaFuncSetAttribute(convolve, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sizeof(union memory));
  cudaMallocAsync((void **)&arranged, sizeof(float) * total, stream);
  arrange<<<ceil_div(total, 256), 256, 0, stream>>>(w, arranged, s.channels, s.features, total);
  convolve<<<dim3(tiles * blocks, 1, (unsigned int)in[0]), THREADS, sizeof(union memory), stream>>>(x, w, arranged, y,
                                                                                                    s, blocks);
  cudaFreeAsync(arranged, stream);
}
#endif
