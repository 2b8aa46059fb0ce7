// Convolution of tall images with 5 x 7 kernels.
// assay: task kernelbench/1/56
// assay: twin TF32 expect low_precision|wrong_value -- leaves out the products that make up for the rounding to tf32
// A product of matrices that are never made: a block of 256 threads makes 128 channels of 4x32 outputs. Chunks of 8
// input channels with all inputs that the block's taps reach travel through shared memory (cp.async, double buffered),
// and so do slices of weights, which a first launch has put in the order of the tensor cores. Numbers are split into
// two of tf32 and multiplied three times by mma.sync, which keeps single precision; eight terms at a time, since
// tensor cores do not round sums. What limits it is the rate of mma.sync.
// assay: let tiles = ceil_div(y.3, 32) * ceil_div(y.2, 4)
// assay: let blocks = ceil_div(CO, 128)
// assay: let total = blocks * ceil_div(CI, 8) * 35840
// assay: scratch arranged float[total]
// assay: launch arrange grid=ceil_div(total, 256) block=256 args=w, arranged, CI, CO, total
// assay: launch convolve grid=tiles,blocks,N block=256 shared=80672 \
//   args=x, w, arranged, y, {int(CI), int(CO), int(1), int(H), int(W), int(1), int(y.2), int(y.3)}
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { KD = 1, KH = 5, KW = 7 }; // taps
enum { SD = 1, SH = 1, SW = 1 }; // strides
enum { DD = 1, DH = 1, DW = 1 }; // dilations
enum { PD = 0, PH = 0, PW = 0 }; // padding
enum { GROUPS = 1 };
enum { TD = 1, TH = 4, TW = 32 };            // outputs of a block
enum { STEP_D = 1, STEP_H = 1, STEP_W = 1 }; // from an output to the next one, in the input
enum { CHANNELS = 8 };                       // of the input in a chunk
enum { M_TILES = 4, M_WARPS = 2 };           // sixteen output channels to a tile
enum { N_WARPS = 4 };                        // of 32 outputs each
enum { SLICE = 7 };                          // steps of eight terms whose weights are in shared memory at a time

enum {
  THREADS = 32 * M_WARPS * N_WARPS,
  BLOCK_M = 16 * M_TILES * M_WARPS, // output channels of a block
  TAPS = KD * KH * KW,
  PATCH_W = (TW - 1) * SW + (KW - 1) * DW + 1,
  PATCH_H = (TH - 1) * SH + (KH - 1) * DH + 1,
  PATCH_D = (TD - 1) * SD + (KD - 1) * DD + 1,
  PATCH = PATCH_D * PATCH_H * PATCH_W,
  PITCH = (PATCH + 31 - 8) / 32 * 32 + 8, // of a channel; four of them lie in different banks
  STEPS = (CHANNELS * TAPS + 7) / 8,      // of 8 products each, for the channels of a chunk
  SLICE_FLOATS = SLICE * BLOCK_M * 8,
  STAGE_PITCH = 40,
};

struct sizes {
  int channels, features; // of the input and of the output
  int d, h, w, od, oh, ow;
};

union memory {
  struct {
    float patch[2][CHANNELS][PITCH];
    alignas(16) float weights[2][SLICE_FLOATS];
    int source[PATCH];  // where an element of the patch lies in its channel of the input, -1 for zeros around it
    int tap[STEPS * 8]; // where the terms of the sum begin in the patch
  };
  float stage[THREADS / 32][16 * STAGE_PITCH]; // at the end, for the sums of a warp
};
static_assert(sizeof(union memory) == 80672, "as the launch line says");

static __device__ void copy_async4(void *to, const float *from, bool inside) {
  unsigned int at = (unsigned int)__cvta_generic_to_shared(to);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at), "l"(from), "r"(inside ? 4 : 0) : "memory");
}

static __device__ void copy_async16(void *to, const float *from) {
  unsigned int at = (unsigned int)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
}

static __device__ void copy_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

static __device__ void copy_wait_all() {
  asm volatile("cp.async.wait_group 0;" ::: "memory");
}

// Brings the weights into the order in which a lane of mma.m16n8k8 wants them, zeros where channels or taps end:
// [block][chunk][step][16 rows][lane][4].
__global__ void arrange(const float *__restrict__ w, float *__restrict__ to, int channels, int features, int total) {
  int at = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (at >= total)
    return;
  int chunks = (channels + CHANNELS - 1) / CHANNELS;
  int part = at % 4, lane = at / 4 % 32, rows = at / 128 % (BLOCK_M / 16), rest = at / (BLOCK_M * 8);
  int k = rest % STEPS * 8 + lane % 4 + part / 2 * 4;
  int channel = rest / STEPS % chunks * CHANNELS + k % CHANNELS, tap = k / CHANNELS;
  rest /= STEPS * chunks;
  int feature = rest * BLOCK_M + rows * 16 + lane / 4 + part % 2 * 8;
  bool inside = feature < features && channel < channels && tap < TAPS;
  float value = inside ? w[(feature * channels + channel) * TAPS + tap] : 0;
  to[at] = value;
}

// What a block works at.
struct place {
  int n, group, feature; // the image, the group of channels, the first output channel of the block in it
  int d, h, w;           // the first output of the tile
};

static __device__ struct place place_of_block(struct sizes s) {
  struct place at;
  int block = (int)blockIdx.x;
  int across = (s.ow + TW - 1) / TW, down = (s.oh + TH - 1) / TH;
  int blocks = (s.features + BLOCK_M - 1) / BLOCK_M;
  at.w = block % across * TW;
  at.h = block / across % down * TH;
  at.d = block / across / down * TD;
  at.n = (int)blockIdx.z;
  at.group = (int)blockIdx.y / blocks;
  at.feature = (int)blockIdx.y % blocks * BLOCK_M;
  return at;
}

static __device__ void fill_source(int *source, struct place at, struct sizes s) {
  int w0 = at.w * SW - PW, h0 = at.h * SH - PH, d0 = at.d * SD - PD;
  for (int i = (int)threadIdx.x; i < PATCH; i += THREADS) {
    int w = w0 + i % PATCH_W, h = h0 + i / PATCH_W % PATCH_H, d = d0 + i / (PATCH_W * PATCH_H);
    bool inside = w >= 0 && w < s.w && h >= 0 && h < s.h && d >= 0 && d < s.d;
    source[i] = inside ? (d * s.h + h) * s.w + w : -1;
  }
}

static __device__ void fill_taps(int *to) {
  for (int i = (int)threadIdx.x; i < STEPS * 8; i += THREADS) {
    int channel = i % CHANNELS, tap = min(i / CHANNELS, TAPS - 1); // after the last tap, weights are zero
    int d = tap / (KW * KH) * DD, h = tap / KW % KH * DH, w = tap % KW * DW;
    to[i] = channel * PITCH + (d * PATCH_H + h) * PATCH_W + w;
  }
}

// The chunk's channels of the patch: `x` is the first of them, `left` so many remain.
static __device__ void fetch_patch(float (*to)[PITCH], const float *x, const int *source, int left, long long plane) {
  for (int i = (int)threadIdx.x; i < PATCH; i += THREADS) {
    int from = source[i];
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
      bool inside = from >= 0 && c < left;
      copy_async4(&to[c][i], inside ? x + c * plane + from : x, inside);
    }
  }
}

static __device__ void fetch_weights(float *to, const float *from, int count) {
  for (int i = (int)threadIdx.x * 4; i < count; i += THREADS * 4)
    copy_async16(to + i, from + i);
}

// x = big + small, both of which tf32 holds, but for 2^-22 of x. A tensor core ignores the low bits of `small`.
static __device__ void split(float x, unsigned int *big, unsigned int *small) {
  *big = (__float_as_uint(x) + 0x1000) & 0xffffe000;
  *small = __float_as_uint(x - __uint_as_float(*big));
}

static __device__ void mma(float (&to)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, "
               "%1, %2, %3};"
               : "+f"(to[0]), "+f"(to[1]), "+f"(to[2]), "+f"(to[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Where output position i of a tile begins in the patch.
static __device__ constexpr int offset_of(int i) {
  return i % TW * STEP_W + i / TW % TH * STEP_H * PATCH_W + i / (TW * TH) * STEP_D * PATCH_W * PATCH_H;
}

// Adds `steps` times eight terms to the sums. Tensor cores round sums towards zero, so eight terms at a time begin at
// zero, the small products first, and are added here with proper rounding.
static __device__ void add_products(float (&sum)[M_TILES][4][4], const float *patch, const float *weights,
                                    const int *tap, int steps) {
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  const float *from = patch + offset_of(warp % N_WARPS * 32) + offset_of(lane / 4);
  const float4 *rows = (const float4 *)weights + warp / N_WARPS * M_TILES * 32 + lane;
  for (int step = 0; step < steps; step++, tap += 8, rows += BLOCK_M * 2) {
    const float *low = from + tap[lane % 4], *high = from + tap[lane % 4 + 4];
    unsigned int b_big[4][2], b_small[4][2];
#pragma unroll
    for (int j = 0; j < 4; j++) {
      split(low[offset_of(j * 8)], &b_big[j][0], &b_small[j][0]);
      split(high[offset_of(j * 8)], &b_big[j][1], &b_small[j][1]);
    }
#pragma unroll
    for (int i = 0; i < M_TILES; i++) {
      float4 a = rows[i * 32];
      unsigned int big[4], small[4];
      split(a.x, &big[0], &small[0]);
      split(a.y, &big[1], &small[1]);
      split(a.z, &big[2], &small[2]);
      split(a.w, &big[3], &small[3]);
      float part[4][4] = {};
#ifndef TF32
#pragma unroll
      for (int j = 0; j < 4; j++)
        mma(part[j], small, b_big[j]);
#pragma unroll
      for (int j = 0; j < 4; j++)
        mma(part[j], big, b_small[j]);
#endif
#pragma unroll
      for (int j = 0; j < 4; j++)
        mma(part[j], big, b_big[j]);
#pragma unroll
      for (int j = 0; j < 4; j++)
#pragma unroll
        for (int c = 0; c < 4; c++)
          sum[i][j][c] += part[j][c];
    }
  }
}

// An output by the definition. Where all outputs of a warp are tiny, tf32 has lost digits of subnormal inputs; where a
// sum has few terms, the 2^-22 of a product is more than rounding in single precision would cost.
static __device__ float by_definition(const float *x, const float *w, struct sizes s, int group, int feature, int d,
                                      int h, int w_out) {
  float sum = 0;
  const long long plane = (long long)s.d * s.h * s.w;
  for (int c = 0; c < s.channels; c++)
    for (int tap = 0; tap < KD * KH * KW; tap++) {
      int from_d = d * SD - PD + tap / (KW * KH) * DD, from_h = h * SH - PH + tap / KW % KH * DH;
      int from_w = w_out * SW - PW + tap % KW * DW;
      long long weight = ((long long)(group * s.features + feature) * s.channels + c) * TAPS + tap;
      if (from_d >= 0 && from_d < s.d && from_h >= 0 && from_h < s.h && from_w >= 0 && from_w < s.w)
        sum += x[c * plane + ((long long)from_d * s.h + from_h) * s.w + from_w] * w[weight];
    }
  return sum;
}

// Writes the sums of a warp, by way of shared memory so that its lanes write neighbours.
static __device__ void store(const float (&sum)[M_TILES][4][4], float *stage, const float *x, const float *w, float *y,
                             struct place at, struct sizes s, int terms) {
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, i = warp % N_WARPS * 32 + lane;
  int out_w = at.w + i % TW, out_h = at.h + i / TW % TH, out_d = at.d + i / (TW * TH);
  bool inside = out_w < s.ow && out_h < s.oh && out_d < s.od;
  const long long plane = (long long)s.od * s.oh * s.ow;
  float largest = 0;
#pragma unroll
  for (int t = 0; t < M_TILES; t++)
#pragma unroll
    for (int j = 0; j < 16; j++)
      largest = fmaxf(largest, fabsf(sum[t][j / 4][j % 4]));
  const bool exactly = terms > 0 && (terms < 24 || __all_sync(0xffffffff, largest < 0x1p-60f));
  y += (at.n * GROUPS + at.group) * (long long)s.features * plane + ((long long)out_d * s.oh + out_h) * s.ow + out_w;
#pragma unroll
  for (int t = 0; t < M_TILES; t++) {
    __syncwarp();
#pragma unroll
    for (int j = 0; j < 4; j++) {
      float *to = stage + lane / 4 * STAGE_PITCH + j * 8 + lane % 4 * 2;
      *(float2 *)to = make_float2(sum[t][j][0], sum[t][j][1]);
      *(float2 *)(to + 8 * STAGE_PITCH) = make_float2(sum[t][j][2], sum[t][j][3]);
    }
    __syncwarp();
    int feature = at.feature + (warp / N_WARPS * M_TILES + t) * 16;
    for (int row = 0; row < 16 && feature + row < s.features; row++) {
      float value = stage[row * STAGE_PITCH + lane];
      if (inside && exactly)
        value = by_definition(x, w, s, at.group, feature + row, out_d, out_h, out_w);
      if (inside)
        __stcs(&y[(feature + row) * plane], value);
    }
  }
}

__global__ void __launch_bounds__(THREADS, 2)
    convolve(const float *__restrict__ x, const float *__restrict__ w, const float *__restrict__ arranged,
             float *__restrict__ y, struct sizes s) {
  extern __shared__ float4 shared[];
  union memory *m = (union memory *)shared;
  const struct place at = place_of_block(s);
  const int taps = TAPS, steps = STEPS;
  const int chunks = (s.channels + CHANNELS - 1) / CHANNELS, slices = (steps + SLICE - 1) / SLICE;
  const int total = taps > 0 ? chunks * slices : 0;
  const long long plane = (long long)s.d * s.h * s.w;
  x += (at.n * GROUPS + at.group) * (long long)s.channels * plane;
  arranged += at.feature / BLOCK_M * (long long)chunks * STEPS * BLOCK_M * 8;
  float sum[M_TILES][4][4] = {};
  if (total > 0) {
    fill_source(m->source, at, s);
    fill_taps(m->tap);
    __syncthreads();
    fetch_patch(m->patch[0], x, m->source, s.channels, plane);
    fetch_weights(m->weights[0], arranged, min(SLICE, steps) * BLOCK_M * 8);
    copy_commit();
  }
  // While a slice of weights is in use, the next one and, at the first slice of a chunk, the next chunk's patch arrive.
  for (int i = 0, chunk = 0, slice = 0; i < total; i++) {
    copy_wait_all();
    __syncthreads();
    int next_slice = slice + 1 < slices ? slice + 1 : 0, next_chunk = chunk + (next_slice == 0);
    if (slice == 0 && chunk + 1 < chunks) {
      int done = (chunk + 1) * CHANNELS;
      fetch_patch(m->patch[(chunk + 1) % 2], x + done * plane, m->source, s.channels - done, plane);
    }
    if (i + 1 < total)
      fetch_weights(m->weights[(i + 1) % 2], arranged + (next_chunk * STEPS + next_slice * SLICE) * BLOCK_M * 8,
                    min(SLICE, steps - next_slice * SLICE) * BLOCK_M * 8);
    copy_commit();
    add_products(sum, m->patch[chunk % 2][0], m->weights[i % 2], m->tap + slice * SLICE * 8,
                 min(SLICE, steps - slice * SLICE));
    slice = next_slice;
    chunk = next_chunk;
  }
  __syncthreads();
  store(sum, m->stage[threadIdx.x / 32], x, w, y, at, s, taps * s.channels);
}

#ifndef __CUDACC_RTC__
static int ceil_div(long long a, long long b) {
  return (int)((a + b - 1) / b);
}

extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const int64_t *in = args->inputs[0].dims, *kernel = args->inputs[1].dims, *out = args->outputs[0].dims;
  const float *x = (const float *)args->inputs[0].data, *w = (const float *)args->inputs[1].data;
  float *y = (float *)args->outputs[0].data, *arranged;
  struct sizes s = {(int)in[1], (int)kernel[0], 1, (int)in[2], (int)in[3], 1, (int)out[2], (int)out[3]};
  int tiles = ceil_div(s.ow, TW) * ceil_div(s.oh, TH) * ceil_div(s.od, TD);
  int blocks = ceil_div(s.features, BLOCK_M) * GROUPS;
  int total = blocks * ceil_div(s.channels, CHANNELS) * STEPS * BLOCK_M * 8;
  cudaFuncSetAttribute(convolve, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sizeof(union memory));
  cudaMallocAsync((void **)&arranged, sizeof(float) * total, stream);
  arrange<<<ceil_div(total, 256), 256, 0, stream>>>(w, arranged, s.channels, s.features, total);
  convolve<<<dim3(tiles, blocks, (unsigned int)in[0]), THREADS, sizeof(union memory), stream>>>(x, w, arranged, y, s);
  cudaFreeAsync(arranged, stream);
}
#endif
