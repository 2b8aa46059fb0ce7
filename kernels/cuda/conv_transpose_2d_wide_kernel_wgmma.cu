// Transposed convolution of images with 3 x 7 kernels.
// assay: task kernelbench/1/65
// assay: twin TF32 expect low_precision|wrong_value -- leaves out the products that make up for the rounding to tf32
// A product of matrices that are never made, on the tensor cores of Hopper (wgmma): a block of two warp groups makes
// 64 channels of 4 rows of 58 outputs. Each output gathers what reaches it, which makes this an ordinary convolution
// with reversed taps. All inputs of 8 channels that the block's taps reach lie in shared memory, four channels of a
// position side by side: without swizzle, a tap is only another address of the operand. Numbers are split into two of
// tf32 on their way there and multiplied three times, which keeps single precision; the sums of a slice are added
// outside of the tensor cores, which do not round. What limits it is the rate of wgmma.
// assay: let tiles = ceil_div(y.3, 58) * ceil_div(y.2, 4)
// assay: let blocks = ceil_div(CO, 64)
// assay: let total = blocks * ceil_div(CI, 8) * 10752
// assay: scratch arranged float[total]
// assay: launch arrange grid=ceil_div(total, 256) block=256 args=w, arranged, CI, CO, total
// assay: launch convolve grid=tiles,blocks,N block=256 shared=108800 \
//   args=x, w, arranged, y, {int(CI), int(CO), int(1), int(H), int(W), int(1), int(y.2), int(y.3)}
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif
enum { KD = 1, KH = 3, KW = 7 };          // taps
enum { DD = 1, DH = 1, DW = 1 };          // dilations
enum { PAD_D = 0, PAD_H = 2, PAD_W = 6 }; // so far before an output lies the first input that reaches it
enum { TH = 4, TW = 58 };                 // rows and columns of outputs of a block
enum { CHANNELS = 8 };                    // of the input in a chunk
enum { SLICE = 7 };                       // steps of eight terms whose weights are in shared memory at a time
enum { PART = 4 };                        // steps that the tensor cores add up

enum {
  WARP_GROUPS = 2, // of 128 threads; each has its own positions
  THREADS = 128 * WARP_GROUPS,
  BLOCK_M = 64,    // output channels of a block
  POSITIONS = 128, // of a warp group
  TAPS = KD * KH * KW,
  PATCH_H = TH + (KH - 1) * DH,
  PATCH_W = TW + (KW - 1) * DW,
  PATCH = ((KD - 1) * DD + 1) * PATCH_H * PATCH_W,
  // Positions run through the rows of the patch. Results of the last columns, and after them, are not used.
  REACH = ((KD - 1) * DD * PATCH_H + (KH - 1) * DH) * PATCH_W + (KW - 1) * DW + 2 * POSITIONS,
  PITCH = PATCH > REACH ? PATCH : REACH,
  QUADS = CHANNELS / 4,
  STEPS = CHANNELS / 8 * TAPS, // of eight terms, for the channels of a chunk
  SLICES = STEPS / SLICE,
  ROUNDS = (QUADS * PATCH + THREADS - 1) / THREADS, // of quads of channels that a thread brings for a chunk,
  PER_SLICE = (ROUNDS + SLICES - 1) / SLICES,       // and for a slice
  WEIGHTS = SLICE * BLOCK_M * 2,                    // quads of weights in a slice
  PER_THREAD = (WEIGHTS + THREADS - 1) / THREADS,
  STAGE_PITCH = POSITIONS + 8,
};
static_assert(STEPS % SLICE == 0, "slices are whole");

struct sizes {
  int channels, features; // of the input and of the output
  int d, h, w, od, oh, ow;
};

// Operands as wgmma wants them: four numbers of the sum's dimension side by side, then the next position or channel.
union memory {
  struct {
    float4 patch[2][2][QUADS][PITCH];        // [turn][big, small]
    float4 weights[2][SLICE][2][2][BLOCK_M]; // [turn][step][big, small][half of the step]
    int source[PATCH]; // where an element of the patch lies in its channel of the input, -1 for zeros around it
  };
  float stage[THREADS / 32][16 * STAGE_PITCH]; // at the end, for the sums of a warp
};
static_assert(sizeof(union memory) == 108800, "as the launch line says");

// What a block works at: the image, the first output channel, the first output of the tile.
struct place {
  int n, feature, d, h, w;
};

// Brings the weights into the order [block][chunk][step][half][BLOCK_M][4], zeros where channels end.
__global__ void arrange(const float *__restrict__ w, float *__restrict__ to, int channels, int features, int total) {
  int at = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (at >= total)
    return;
  int chunks = (channels + CHANNELS - 1) / CHANNELS;
  int k = at % 4 + at / (4 * BLOCK_M) % 2 * 4, row = at / 4 % BLOCK_M, rest = at / (8 * BLOCK_M);
  int step = rest % STEPS, chunk = rest / STEPS % chunks, feature = rest / (STEPS * chunks) * BLOCK_M + row;
  int channel = chunk * CHANNELS + step % (CHANNELS / 8) * 8 + k, tap = step / (CHANNELS / 8);
  bool inside = feature < features && channel < channels;
  // A transposed convolution is an ordinary one with the taps in reverse order.
  to[at] = inside ? w[(channel * features + feature) * TAPS + TAPS - 1 - tap] : 0;
}

static __device__ struct place place_of_block(struct sizes s) {
  int across = (s.ow + TW - 1) / TW, down = (s.oh + TH - 1) / TH, block = (int)blockIdx.x;
  return {(int)blockIdx.z, (int)blockIdx.y * BLOCK_M, block / across / down, block / across % down * TH,
          block % across * TW};
}

static __device__ void fill_source(int *source, struct place at, struct sizes s) {
  for (int i = (int)threadIdx.x; i < PATCH; i += THREADS) {
    int w = at.w - PAD_W + i % PATCH_W, h = at.h - PAD_H + i / PATCH_W % PATCH_H;
    int d = at.d - PAD_D + i / (PATCH_W * PATCH_H);
    bool inside = w >= 0 && w < s.w && h >= 0 && h < s.h && d >= 0 && d < s.d;
    source[i] = inside ? (d * s.h + h) * s.w + w : -1;
  }
}

// x = big + small, both of which tf32 holds, but for 2^-22 of x. A tensor core ignores the low bits of `small`.
static __device__ void split(float4 x, float4 *big, float4 *small) {
  big->x = __uint_as_float((__float_as_uint(x.x) + 0x1000) & 0xffffe000);
  big->y = __uint_as_float((__float_as_uint(x.y) + 0x1000) & 0xffffe000);
  big->z = __uint_as_float((__float_as_uint(x.z) + 0x1000) & 0xffffe000);
  big->w = __uint_as_float((__float_as_uint(x.w) + 0x1000) & 0xffffe000);
  *small = make_float4(x.x - big->x, x.y - big->y, x.z - big->z, x.w - big->w);
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

static __device__ void store_quad(float4 (*to)[QUADS][PITCH], int i, float4 value) {
  if (i < QUADS * PATCH)
    split(value, &to[0][i / PATCH][i % PATCH], &to[1][i / PATCH][i % PATCH]);
}

static __device__ void store_weights(float4 (*to)[2][2][BLOCK_M], int i, float4 value) {
  int step = i / (2 * BLOCK_M), half = i / BLOCK_M % 2, row = i % BLOCK_M;
  if (i < WEIGHTS)
    split(value, &to[step][0][half][row], &to[step][1][half][row]);
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

static __device__ void products_wait(float (&sum)[64]) {
  asm volatile("wgmma.wait_group.sync.aligned 0;"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]),
                 "+f"(sum[7]), "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]), "+f"(sum[12]), "+f"(sum[13]),
                 "+f"(sum[14]), "+f"(sum[15]), "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]), "+f"(sum[19]),
                 "+f"(sum[20]), "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23]), "+f"(sum[24]), "+f"(sum[25]),
                 "+f"(sum[26]), "+f"(sum[27]), "+f"(sum[28]), "+f"(sum[29]), "+f"(sum[30]), "+f"(sum[31]),
                 "+f"(sum[32]), "+f"(sum[33]), "+f"(sum[34]), "+f"(sum[35]), "+f"(sum[36]), "+f"(sum[37]),
                 "+f"(sum[38]), "+f"(sum[39]), "+f"(sum[40]), "+f"(sum[41]), "+f"(sum[42]), "+f"(sum[43]),
                 "+f"(sum[44]), "+f"(sum[45]), "+f"(sum[46]), "+f"(sum[47]), "+f"(sum[48]), "+f"(sum[49]),
                 "+f"(sum[50]), "+f"(sum[51]), "+f"(sum[52]), "+f"(sum[53]), "+f"(sum[54]), "+f"(sum[55]),
                 "+f"(sum[56]), "+f"(sum[57]), "+f"(sum[58]), "+f"(sum[59]), "+f"(sum[60]), "+f"(sum[61]),
                 "+f"(sum[62]), "+f"(sum[63])::"memory");
}

// An operand without swizzle: eight rows of 16 bytes after one another, the next eight 128 bytes on, the second half of
// the sum's dimension `half` bytes on.
static __device__ unsigned long long describe(const float4 *at, unsigned int half) {
  unsigned long long address = (unsigned int)__cvta_generic_to_shared(at);
  return (address & 0x3ffff) >> 4 | (unsigned long long)(half >> 4) << 16 | (unsigned long long)(128 >> 4) << 32;
}

// 64 x 128 products of eight terms, added to `sum` or put there.
static __device__ void wgmma(float (&sum)[64], unsigned long long a, unsigned long long b, int add) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "
      "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, p, 1, 1; }"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]), "+f"(sum[7]),
        "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]), "+f"(sum[12]), "+f"(sum[13]), "+f"(sum[14]),
        "+f"(sum[15]), "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]), "+f"(sum[19]), "+f"(sum[20]), "+f"(sum[21]),
        "+f"(sum[22]), "+f"(sum[23]), "+f"(sum[24]), "+f"(sum[25]), "+f"(sum[26]), "+f"(sum[27]), "+f"(sum[28]),
        "+f"(sum[29]), "+f"(sum[30]), "+f"(sum[31]), "+f"(sum[32]), "+f"(sum[33]), "+f"(sum[34]), "+f"(sum[35]),
        "+f"(sum[36]), "+f"(sum[37]), "+f"(sum[38]), "+f"(sum[39]), "+f"(sum[40]), "+f"(sum[41]), "+f"(sum[42]),
        "+f"(sum[43]), "+f"(sum[44]), "+f"(sum[45]), "+f"(sum[46]), "+f"(sum[47]), "+f"(sum[48]), "+f"(sum[49]),
        "+f"(sum[50]), "+f"(sum[51]), "+f"(sum[52]), "+f"(sum[53]), "+f"(sum[54]), "+f"(sum[55]), "+f"(sum[56]),
        "+f"(sum[57]), "+f"(sum[58]), "+f"(sum[59]), "+f"(sum[60]), "+f"(sum[61]), "+f"(sum[62]), "+f"(sum[63])
      : "l"(a), "l"(b), "r"(add));
}

// Begins the products of at most PART steps of a slice. Tensor cores do not round sums, so these begin at zero, and the
// small products come first.
static __device__ void multiply(float (&part)[64], const float4 (*patch)[QUADS][PITCH],
                                const float4 (*weights)[2][2][BLOCK_M], int begin, int first, int group) {
  const int row = 0, position = group * POSITIONS;
  products_begin();
#pragma unroll
  for (int pass = 0; pass < 3; pass++) // small times big, big times small, big times big
#pragma unroll
    for (int i = begin; i < begin + PART && i < SLICE; i++) {
      int step = first + i, tap = step / (CHANNELS / 8), quad = step % (CHANNELS / 8) * 2;
      int from = (tap / (KW * KH) * DD * PATCH_H + tap / KW % KH * DH) * PATCH_W + tap % KW * DW + position;
#ifdef TF32
      if (pass < 2)
        continue;
      wgmma(part, describe(&weights[i][pass == 0][0][row], BLOCK_M * 16),
            describe(&patch[pass == 1][quad][from], PITCH * 16), i > begin);
      continue;
#endif
      wgmma(part, describe(&weights[i][pass == 0][0][row], BLOCK_M * 16),
            describe(&patch[pass == 1][quad][from], PITCH * 16), pass > 0 || i > begin);
    }
  products_commit();
}

// An output by the definition. Where all outputs of a warp are tiny, tf32 has lost digits of subnormal inputs; where a
// sum has few terms, the 2^-22 of a product is more than rounding in single precision would cost.
static __device__ float by_definition(const float *x, const float *w, struct sizes s, int feature, int d, int h,
                                      int w_out) {
  float sum = 0;
  const long long plane = (long long)s.d * s.h * s.w;
  for (int c = 0; c < s.channels; c++)
    for (int tap = 0; tap < TAPS; tap++) {
      int from_d = d - PAD_D + tap / (KW * KH) * DD, from_h = h - PAD_H + tap / KW % KH * DH;
      int from_w = w_out - PAD_W + tap % KW * DW;
      long long weight = ((long long)c * s.features + feature) * TAPS + TAPS - 1 - tap;
      if (from_d >= 0 && from_d < s.d && from_h >= 0 && from_h < s.h && from_w >= 0 && from_w < s.w)
        sum += x[c * plane + ((long long)from_d * s.h + from_h) * s.w + from_w] * w[weight];
    }
  return sum;
}

// Writes the sums of a warp, by way of shared memory so that its lanes write neighbours.
static __device__ void store(const float (&sum)[64], float *stage, const float *x, const float *w, float *y,
                             struct place at, struct sizes s) {
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32 % 4, group = (int)threadIdx.x / 128;
  const long long plane = (long long)s.od * s.oh * s.ow;
  const int feature = at.feature + 0 + warp * 16;
  float largest = 0;
#pragma unroll
  for (int j = 0; j < 64; j++)
    largest = fmaxf(largest, fabsf(sum[j]));
  const bool few = s.channels * TAPS < 64 || s.channels < 8; // at the edges fewer taps reach an output
  const bool exactly = few || __all_sync(0xffffffff, largest < 0x1p-60f);
#pragma unroll
  for (int j = 0; j < 64; j += 4) {
    float *to = stage + lane / 4 * STAGE_PITCH + j * 2 + lane % 4 * 2;
    *(float2 *)to = make_float2(sum[j], sum[j + 1]);
    *(float2 *)(to + 8 * STAGE_PITCH) = make_float2(sum[j + 2], sum[j + 3]);
  }
  __syncwarp();
  y += (long long)at.n * s.features * plane + (long long)at.d * s.oh * s.ow;
#pragma unroll
  for (int j = 0; j < POSITIONS; j += 32) {
    int position = group * POSITIONS + j + lane, row = position / PATCH_W, column = position % PATCH_W;
    int out_h = at.h + row, out_w = at.w + column;
    bool inside = row < TH && column < TW && out_h < s.oh && out_w < s.ow;
    for (int i = 0; i < 16 && feature + i < s.features; i++) {
      float value = stage[i * STAGE_PITCH + j + lane];
      if (inside && exactly)
        value = by_definition(x, w, s, feature + i, at.d, out_h, out_w);
      if (inside)
        __stcs(&y[(feature + i) * plane + (long long)out_h * s.ow + out_w], value);
    }
  }
}

__global__ void __launch_bounds__(THREADS, 1)
    convolve(const float *__restrict__ x, const float *__restrict__ w, const float *__restrict__ arranged,
             float *__restrict__ y, struct sizes s) {
  extern __shared__ __align__(128) float4 shared[];
  union memory *m = (union memory *)shared;
  const struct place at = place_of_block(s);
  const int thread = (int)threadIdx.x, group = thread / 128;
  const int chunks = (s.channels + CHANNELS - 1) / CHANNELS, total = chunks * SLICES;
  const long long plane = (long long)s.d * s.h * s.w;
  const float4 *weights = (const float4 *)arranged + (long long)blockIdx.y * total * WEIGHTS;
  x += at.n * (long long)s.channels * plane;
  fill_source(m->source, at, s);
  // What lies after the patch is read but not used. It is only initialised.
  for (int i = PATCH + thread; i < PITCH; i += THREADS)
    for (int row = 0; row < 4 * QUADS; row++)
      m->patch[row / (2 * QUADS)][row / QUADS % 2][row % QUADS][i] = make_float4(0, 0, 0, 0);
  __syncthreads();
  for (int i = thread; i < QUADS * PATCH; i += THREADS)
    store_quad(m->patch[0], i, load_quad(x, m->source, i, s.channels, plane));
  for (int i = thread; i < WEIGHTS; i += THREADS)
    store_weights(m->weights[0], i, weights[i]);
  float sum[64] = {}, part[64] = {};
  for (int i = 0, chunk = 0, slice = 0; i < total; i++) {
    publish();
    __syncthreads();
    // While the tensor cores work: the weights of the next slice, and a part of the next chunk's patch.
    float4 coming[PER_THREAD], quads[PER_SLICE];
    const int done = (chunk + 1) * CHANNELS;
    const float4 *next = weights + (i + 1) * WEIGHTS;
#pragma unroll
    for (int begin = 0; begin < SLICE; begin += PART) {
      multiply(part, m->patch[chunk % 2], m->weights[i % 2], begin, slice * SLICE, group);
      if (begin == 0) {
#pragma unroll
        for (int j = 0; j < PER_THREAD; j++)
          if (i + 1 < total && thread + j * THREADS < WEIGHTS)
            coming[j] = next[thread + j * THREADS];
#pragma unroll
        for (int j = 0; j < PER_SLICE; j++)
          quads[j] = load_quad(x + done * plane, m->source, (slice * PER_SLICE + j) * THREADS + thread,
                               s.channels - done, plane);
      }
      if (begin + PART >= SLICE) {
        if (i + 1 < total)
#pragma unroll
          for (int j = 0; j < PER_THREAD; j++)
            store_weights(m->weights[(i + 1) % 2], thread + j * THREADS, coming[j]);
#pragma unroll
        for (int j = 0; j < PER_SLICE; j++)
          store_quad(m->patch[(chunk + 1) % 2], (slice * PER_SLICE + j) * THREADS + thread, quads[j]);
      }
      products_wait(part);
#pragma unroll
      for (int j = 0; j < 64; j++)
        sum[j] += part[j];
    }
    if (++slice == SLICES)
      slice = 0, chunk++;
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
  struct sizes s = {(int)in[1], (int)out[1], 1, (int)in[2], (int)in[3], 1, (int)out[2], (int)out[3]};
  int tiles = ceil_div(s.ow, TW) * ceil_div(s.oh, TH) * s.od, blocks = ceil_div(s.features, BLOCK_M);
  int total = blocks * ceil_div(s.channels, CHANNELS) * STEPS * BLOCK_M * 8;
  cudaFuncSetAttribute(convolve, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sizeof(union memory));
  cudaMallocAsync((void **)&arranged, sizeof(float) * total, stream);
  arrange<<<ceil_div(total, 256), 256, 0, stream>>>(w, arranged, s.channels, s.features, total);
  convolve<<<dim3(tiles, blocks, (unsigned int)in[0]), THREADS, sizeof(union memory), stream>>>(x, w, arranged, y, s);
  cudaFreeAsync(arranged, stream);
}
#endif
