// Transposed convolution of volumes, strided and padded.
// assay: task kernelbench/1/73
// assay: twin NO_BARRIER expect wrong_value|wrong_class|low_precision|changed_behaviour -- reads what other threads bring before it is there
// A product of matrices that are never made: a block of 256 threads makes 32 channels of 8x32 outputs. Outputs whose
// place leaves the same remainder by the strides (a phase) are reached by the same taps: each phase is a small
// convolution of its own; the phases of a place run at the same time, so that the lines they write to meet in the
// cache. Chunks of 8 input channels with all inputs that the block's taps reach travel through shared memory
// (cp.async, double buffered), and so do slices of weights, which a first launch has put in the order of the tensor
// cores. Numbers are split into two of tf32 and multiplied three times by mma.sync, which keeps single precision;
// eight terms at a time, since tensor cores do not round sums. What limits it is the rate of mma.sync.
// assay: let tiles = ceil_div(ceil_div(y.4, 2), 32) * ceil_div(ceil_div(y.3, 2), 8) * ceil_div(ceil_div(y.2, 2), 1) * 8
// assay: let blocks = ceil_div(CO, 32)
// assay: let total = 8 * blocks * ceil_div(CI, 8) * 2048
// assay: scratch arranged float[total]
// assay: launch arrange grid=ceil_div(total, 256) block=256 args=w, arranged, CI, CO, total
// assay: launch convolve grid=tiles,blocks,N block=256 shared=58448 \
//   args=x, w, arranged, y, {int(CI), int(CO), int(D), int(H), int(W), int(y.2), int(y.3), int(y.4)}
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { KD = 3, KH = 3, KW = 3 };                   // taps
enum { SD = 2, SH = 2, SW = 2 };                   // strides
enum { DD = 1, DH = 1, DW = 1 };                   // dilations
enum { PD = 1, PH = 1, PW = 1 };                   // padding
enum { PERIOD_D = 2, PERIOD_H = 2, PERIOD_W = 2 }; // taps so far apart reach the same phase
enum { GROUPS = 1 };
enum { TD = 1, TH = 8, TW = 32 };            // outputs of a block
enum { STEP_D = 1, STEP_H = 1, STEP_W = 1 }; // from an output to the next one, in the input
enum { CHANNELS = 8 };                       // of the input in a chunk
enum { M_TILES = 2, M_WARPS = 1 };           // sixteen output channels to a tile
enum { N_WARPS = 8 };                        // of 32 outputs each
enum { SLICE = 8 };                          // steps of eight terms whose weights are in shared memory at a time

enum {
  THREADS = 32 * M_WARPS * N_WARPS,
  BLOCK_M = 16 * M_TILES * M_WARPS, // output channels of a block
  PHASES = SD * SH * SW,
  TAPS = ((KD + PERIOD_D - 1) / PERIOD_D) * ((KH + PERIOD_H - 1) / PERIOD_H) *
         ((KW + PERIOD_W - 1) / PERIOD_W), // the most that reach any one phase
  // The first and the last input that an output's taps reach, seen from its place on the phase's grid.
  LOW_W = (PW - (KW - 1) * DW) / SW,
  LOW_H = (PH - (KH - 1) * DH) / SH,
  LOW_D = (PD - (KD - 1) * DD) / SD,
  PATCH_W = TW + (SW - 1 + PW) / SW - LOW_W,
  PATCH_H = TH + (SH - 1 + PH) / SH - LOW_H,
  PATCH_D = TD + (SD - 1 + PD) / SD - LOW_D,
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
static_assert(sizeof(union memory) == 58448, "as the launch line says");

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

// The first tap that reaches outputs of a phase; others follow PERIOD taps apart. `taps` or more: none does.
static __device__ int first_tap(int phase, int taps, int stride, int dilation, int pad) {
  int tap = 0;
  while (tap < taps && (phase + pad - tap * dilation) % stride != 0)
    tap++;
  return tap;
}

static __device__ int count_taps(int first, int taps, int period) {
  return first < taps ? (taps - 1 - first) / period + 1 : 0;
}

// The taps of a phase along one dimension: `count` of them, the first one and how far they reach.
struct taps {
  int first, count, phase;
};

static __device__ struct taps taps_of(int phase, int taps, int stride, int dilation, int pad, int period) {
  int first = first_tap(phase, taps, stride, dilation, pad);
  return {first, count_taps(first, taps, period), phase};
}

struct phase {
  struct taps d, h, w;
};

static __device__ struct phase phase_of(int p) {
  return {taps_of(p / (SH * SW), KD, SD, DD, PD, PERIOD_D), taps_of(p / SW % SH, KH, SH, DH, PH, PERIOD_H),
          taps_of(p % SW, KW, SW, DW, PW, PERIOD_W)};
}

// Brings the weights into the order in which a lane of mma.m16n8k8 wants them, zeros where channels or taps end:
// [phase][group][block][chunk][step][16 rows][lane][4].
__global__ void arrange(const float *__restrict__ w, float *__restrict__ to, int channels, int features, int total) {
  int at = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (at >= total)
    return;
  int chunks = (channels + CHANNELS - 1) / CHANNELS;
  int part = at % 4, lane = at / 4 % 32, rows = at / 128 % (BLOCK_M / 16), rest = at / (BLOCK_M * 8);
  int k = rest % STEPS * 8 + lane % 4 + part / 2 * 4;
  int channel = rest / STEPS % chunks * CHANNELS + k % CHANNELS, tap = k / CHANNELS;
  rest /= STEPS * chunks;
  int blocks = (features + BLOCK_M - 1) / BLOCK_M;
  int feature = rest % blocks * BLOCK_M + rows * 16 + lane / 4 + part % 2 * 8, group = rest / blocks % GROUPS;
  struct phase p = phase_of(rest / blocks / GROUPS);
  bool inside = feature < features && channel < channels && tap < p.d.count * p.h.count * p.w.count;
  float value = 0;
  if (inside) {
    int tap_w = p.w.first + tap % p.w.count * PERIOD_W, tap_h = p.h.first + tap / p.w.count % p.h.count * PERIOD_H;
    int tap_d = p.d.first + tap / p.w.count / p.h.count * PERIOD_D;
    value = w[(((group * channels + channel) * features + feature) * KD + tap_d) * KH * KW + tap_h * KW + tap_w];
  }
  to[at] = value;
}

// What a block works at.
struct place {
  int n, group, feature; // the image, the group of channels, the first output channel of the block in it
  int d, h, w;           // the first output of the tile, on the grid of its phase
  struct phase p;
};

static __device__ struct place place_of_block(struct sizes s) {
  struct place at;
  int block = (int)blockIdx.x;
  at.p = phase_of(block % PHASES);
  block /= PHASES;
  int across = ((s.ow + SW - 1) / SW + TW - 1) / TW, down = ((s.oh + SH - 1) / SH + TH - 1) / TH;
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
  int w0 = at.w + LOW_W, h0 = at.h + LOW_H, d0 = at.d + LOW_D;
  for (int i = (int)threadIdx.x; i < PATCH; i += THREADS) {
    int w = w0 + i % PATCH_W, h = h0 + i / PATCH_W % PATCH_H, d = d0 + i / (PATCH_W * PATCH_H);
    bool inside = w >= 0 && w < s.w && h >= 0 && h < s.h && d >= 0 && d < s.d;
    source[i] = inside ? (d * s.h + h) * s.w + w : -1;
  }
}

static __device__ void fill_taps(int *to, const struct phase &p) {
  for (int i = (int)threadIdx.x; i < STEPS * 8; i += THREADS) {
    int channel = i % CHANNELS, tap = min(i / CHANNELS, TAPS - 1); // after the last tap, weights are zero
    tap = min(tap, p.d.count * p.h.count * p.w.count - 1);
    int w = p.w.first + tap % p.w.count * PERIOD_W, h = p.h.first + tap / p.w.count % p.h.count * PERIOD_H;
    int d = p.d.first + tap / p.w.count / p.h.count * PERIOD_D;
    int x = (p.w.phase + PW - w * DW) / SW - LOW_W, y = (p.h.phase + PH - h * DH) / SH - LOW_H;
    int z = (p.d.phase + PD - d * DD) / SD - LOW_D;
    to[i] = channel * PITCH + (z * PATCH_H + y) * PATCH_W + x;
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
#pragma unroll
      for (int j = 0; j < 4; j++)
        mma(part[j], small, b_big[j]);
#pragma unroll
      for (int j = 0; j < 4; j++)
        mma(part[j], big, b_small[j]);
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

// An output by the definition, from the taps of its phase. Where all outputs of a warp are tiny, tf32 has lost digits
// of subnormal inputs; where a sum has few terms, the 2^-22 of a product is more than rounding in single precision
// costs.
static __device__ float by_definition(const float *x, const float *w, struct sizes s, const struct phase &p, int group,
                                      int feature, int d, int h, int w_out) {
  float sum = 0;
  const long long plane = (long long)s.d * s.h * s.w;
  for (int i = p.d.first; i < KD; i += PERIOD_D)
    for (int j = p.h.first; j < KH; j += PERIOD_H)
      for (int k = p.w.first; k < KW; k += PERIOD_W) {
        int from_d = d + PD - i * DD, from_h = h + PH - j * DH, from_w = w_out + PW - k * DW;
        if (from_d < 0 || from_d >= s.d * SD || from_h < 0 || from_h >= s.h * SH || from_w < 0 || from_w >= s.w * SW)
          continue;
        long long from = ((long long)(from_d / SD) * s.h + from_h / SH) * s.w + from_w / SW;
        for (int c = 0; c < s.channels; c++)
          sum += x[c * plane + from] *
                 w[(((long long)(group * s.channels + c) * s.features + feature) * KD + i) * KH * KW + j * KW + k];
      }
  return sum;
}

// Writes the sums of a warp, by way of shared memory so that its lanes write neighbours.
static __device__ void store(const float (&sum)[M_TILES][4][4], float *stage, const float *x, const float *w, float *y,
                             struct place at, struct sizes s, int terms) {
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, i = warp % N_WARPS * 32 + lane;
  int out_w = (at.w + i % TW) * SW + at.p.w.phase, out_h = (at.h + i / TW % TH) * SH + at.p.h.phase;
  int out_d = (at.d + i / (TW * TH)) * SD + at.p.d.phase;
  bool inside = out_w < s.ow && out_h < s.oh && out_d < s.od;
  const long long plane = (long long)s.od * s.oh * s.ow;
  float largest = 0;
#pragma unroll
  for (int t = 0; t < M_TILES; t++)
#pragma unroll
    for (int j = 0; j < 16; j++)
      largest = fmaxf(largest, fabsf(sum[t][j / 4][j % 4]));
  const bool few = terms < 24 || s.channels < 8; // at the edges fewer taps reach an output
  const bool exactly = terms > 0 && (few || __all_sync(0xffffffff, largest < 0x1p-60f));
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
        value = by_definition(x, w, s, at.p, at.group, feature + row, out_d, out_h, out_w);
      if (inside)
        y[(feature + row) * plane] = value;
    }
  }
}

__global__ void __launch_bounds__(THREADS, 2)
    convolve(const float *__restrict__ x, const float *__restrict__ w, const float *__restrict__ arranged,
             float *__restrict__ y, struct sizes s) {
  extern __shared__ float4 shared[];
  union memory *m = (union memory *)shared;
  const struct place at = place_of_block(s);
  if (at.w * SW + at.p.w.phase >= s.ow || at.h * SH + at.p.h.phase >= s.oh || at.d * SD + at.p.d.phase >= s.od)
    return;
  const int taps = at.p.d.count * at.p.h.count * at.p.w.count, steps = (taps * CHANNELS + 7) / 8;
  const int chunks = (s.channels + CHANNELS - 1) / CHANNELS, slices = (steps + SLICE - 1) / SLICE;
  const int total = taps > 0 ? chunks * slices : 0;
  const long long plane = (long long)s.d * s.h * s.w;
  x += (at.n * GROUPS + at.group) * (long long)s.channels * plane;
  const int blocks = (s.features + BLOCK_M - 1) / BLOCK_M;
  int block = ((int)blockIdx.x % PHASES * GROUPS + at.group) * blocks + at.feature / BLOCK_M;
  arranged += (long long)block * chunks * STEPS * BLOCK_M * 8;
  float sum[M_TILES][4][4] = {};
  if (total > 0) {
    fill_source(m->source, at, s);
    fill_taps(m->tap, at.p);
    __syncthreads();
#ifdef NO_BARRIER
    if (threadIdx.x < 32) // a warp comes late, by more than the others need
      for (long long begin = clock64(); clock64() - begin < 200000;)
        ;
#endif
    fetch_patch(m->patch[0], x, m->source, s.channels, plane);
    fetch_weights(m->weights[0], arranged, min(SLICE, steps) * BLOCK_M * 8);
    copy_commit();
  }
  // While a slice of weights is in use, the next one and, at the first slice of a chunk, the next chunk's patch arrive.
  for (int i = 0, chunk = 0, slice = 0; i < total; i++) {
    copy_wait_all();
#ifndef NO_BARRIER
    __syncthreads();
#endif
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
  struct sizes s = {(int)in[1], (int)kernel[1], (int)in[2],  (int)in[3],
                    (int)in[4], (int)out[2],    (int)out[3], (int)out[4]};
  int tiles =
      ceil_div(ceil_div(s.ow, SW), TW) * ceil_div(ceil_div(s.oh, SH), TH) * ceil_div(ceil_div(s.od, SD), TD) * PHASES;
  int blocks = ceil_div(s.features, BLOCK_M) * GROUPS;
  int total = PHASES * blocks * ceil_div(s.channels, CHANNELS) * STEPS * BLOCK_M * 8;
  cudaFuncSetAttribute(convolve, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sizeof(union memory));
  cudaMallocAsync((void **)&arranged, sizeof(float) * total, stream);
  arrange<<<ceil_div(total, 256), 256, 0, stream>>>(w, arranged, s.channels, s.features, total);
  convolve<<<dim3(tiles, blocks, (unsigned int)in[0]), THREADS, sizeof(union memory), stream>>>(x, w, arranged, y, s);
  cudaFreeAsync(arranged, stream);
}
#endif
