// Depthwise 3 x 3 convolution of images, then a pointwise one.
// assay: task kernelbench/1/86
// assay: twin ONE_BARRIER expect wrong_value|wrong_class|changed_behaviour -- multiplies what other threads still compute
// assay: twin NO_PADDING expect wrong_value -- repeats the edge of the input instead of zeros
// Both in one launch, what lies between stays in shared memory: a block of 256 threads makes 128 channels of 4 x 32
// pixels. Sixteen input channels at a time arrive with their borders (cp.async, double buffered), the depthwise
// convolution of them is the right operand of the pointwise one. Its numbers are split into two of tf32 and multiplied
// three times by mma.sync, which keeps single precision; eight terms at a time, since tensor cores do not round sums.
// Memory limits it first, and mma.sync almost as much.
// assay: let blocks = ceil_div(CO, 128)
// assay: let total = blocks * 8192
// assay: scratch arranged float[total]
// assay: launch arrange grid=ceil_div(total, 256) block=256 args=point, arranged, CO, total
// assay: launch convolve grid=ceil_div(W, 32) * ceil_div(H, 4),blocks,N block=256 shared=54320 \
//   args=x, depth, point, arranged, y, int(CO), int(H), int(W)
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { INPUTS = 64 };                      // channels of the input
enum { TH = 4, TW = 32 };                  // pixels of a block
enum { CHANNELS = 16 };                    // in a chunk
enum { M_TILES = 4, M_WARPS = 2 };         // sixteen output channels to a tile
enum { N_WARPS = 4 };                      // of a row of pixels each
enum { STEPS = CHANNELS / 8 };             // of eight terms, for a chunk
enum { BLOCK_M = 16 * M_TILES * M_WARPS }; // output channels of a block
enum { THREADS = 32 * M_WARPS * N_WARPS };
enum { PATCH_W = TW + 2, PATCH_H = TH + 2, PATCH = PATCH_W * PATCH_H };
enum { PITCH = TH * TW + 8 }; // of a channel of the product's operand; four of them lie in different banks
enum { STAGE_PITCH = 40 };

union memory {
  struct {
    float patch[2][CHANNELS][PATCH];
    alignas(16) float weights[2][STEPS * BLOCK_M * 8];
    float between[CHANNELS][PITCH]; // what the depthwise convolution makes
    float depth[INPUTS][9];
    int source[PATCH]; // where an element of the patch lies in its channel of the input, -1 for zeros around it
  };
  float stage[THREADS / 32][16 * STAGE_PITCH]; // at the end, for the sums of a warp
};
static_assert(sizeof(union memory) == 54320, "as the launch line says");

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

// Brings the weights into the order in which a lane of mma.m16n8k8 wants them, zeros where features end:
// [block][step][16 rows][lane][4].
__global__ void arrange(const float *__restrict__ point, float *__restrict__ to, int features, int total) {
  int at = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (at >= total)
    return;
  int part = at % 4, lane = at / 4 % 32, rows = at / 128 % (BLOCK_M / 16), rest = at / (BLOCK_M * 8);
  int channel = rest % (INPUTS / 8) * 8 + lane % 4 + part / 2 * 4;
  int feature = rest / (INPUTS / 8) * BLOCK_M + rows * 16 + lane / 4 + part % 2 * 8;
  to[at] = feature < features ? point[feature * INPUTS + channel] : 0;
}

static __device__ void fill_source(int *source, int top, int left, int h, int w) {
  for (int i = (int)threadIdx.x; i < PATCH; i += THREADS) {
    int row = top - 1 + i / PATCH_W, column = left - 1 + i % PATCH_W;
#ifdef NO_PADDING
    row = min(max(row, 0), h - 1), column = min(max(column, 0), w - 1);
#endif
    source[i] = row >= 0 && row < h && column >= 0 && column < w ? row * w + column : -1;
  }
}

static __device__ void fetch_patch(float (*to)[PATCH], const float *x, const int *source, int plane) {
  for (int i = (int)threadIdx.x; i < PATCH; i += THREADS) {
    int from = source[i];
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
      copy_async4(&to[c][i], from >= 0 ? x + (long long)c * plane + from : x, from >= 0);
  }
}

// The depthwise convolution of a chunk: a thread makes four pixels below each other at a time.
static __device__ void convolve_depth(float (*to)[PITCH], const float (*patch)[PATCH], const float (*depth)[9]) {
  for (int i = (int)threadIdx.x; i < CHANNELS * TH / 4 * TW; i += THREADS) {
    int column = i % TW, top = i / TW % (TH / 4) * 4, c = i / (TW * (TH / 4));
    const float *from = &patch[c][top * PATCH_W + column];
    float sum[4] = {};
#pragma unroll
    for (int row = 0; row < 6; row++)
#pragma unroll
      for (int j = 0; j < 3; j++) {
        float value = from[row * PATCH_W + j];
#pragma unroll
        for (int k = 0; k < 4; k++)
          if (row - k >= 0 && row - k < 3)
            sum[k] += value * depth[c][(row - k) * 3 + j];
      }
#pragma unroll
    for (int k = 0; k < 4; k++)
      to[c][(top + k) * TW + column] = sum[k];
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

// Adds the terms of a chunk to the sums. Tensor cores round sums towards zero, so eight terms at a time begin at
// zero, the small products first, and are added here with proper rounding.
static __device__ void add_products(float (&sum)[M_TILES][4][4], const float (*between)[PITCH], const float *weights) {
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  const float *low = &between[lane % 4][warp % N_WARPS * 32 + lane / 4];
  const float4 *rows = (const float4 *)weights + warp / N_WARPS * M_TILES * 32 + lane;
  for (int step = 0; step < STEPS; step++, low += 8 * PITCH, rows += BLOCK_M * 2) {
    const float *high = low + 4 * PITCH;
    unsigned int b_big[4][2], b_small[4][2];
#pragma unroll
    for (int j = 0; j < 4; j++) {
      split(low[j * 8], &b_big[j][0], &b_small[j][0]);
      split(high[j * 8], &b_big[j][1], &b_small[j][1]);
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

// An output by the definition, for places where all outputs of a warp are so small that tf32 has lost digits of
// subnormal inputs.
static __device__ float by_definition(const float *x, const float *depth, const float *point, int feature, int row,
                                      int column, int h, int w) {
  float sum = 0;
  for (int c = 0; c < INPUTS; c++) {
    float between = 0;
    for (int tap = 0; tap < 9; tap++) {
      int i = row - 1 + tap / 3, j = column - 1 + tap % 3;
      if (i >= 0 && i < h && j >= 0 && j < w)
        between += x[((long long)c * h + i) * w + j] * depth[c * 9 + tap];
    }
    sum += between * point[feature * INPUTS + c];
  }
  return sum;
}

__global__ void __launch_bounds__(THREADS, 2)
    convolve(const float *__restrict__ x, const float *__restrict__ depth, const float *__restrict__ point,
             const float *__restrict__ arranged, float *__restrict__ y, int features, int h, int w) {
  extern __shared__ float4 shared[];
  union memory *m = (union memory *)shared;
  const int across = (w + TW - 1) / TW, left = (int)blockIdx.x % across * TW, top = (int)blockIdx.x / across * TH;
  const int plane = h * w, lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  const int first = (int)blockIdx.y * BLOCK_M;
  x += (long long)blockIdx.z * INPUTS * plane;
  y += (long long)blockIdx.z * features * plane;
  arranged += (int)blockIdx.y * (INPUTS * BLOCK_M);
  fill_source(m->source, top, left, h, w);
  for (int i = (int)threadIdx.x; i < INPUTS * 9; i += THREADS)
    m->depth[i / 9][i % 9] = depth[i];
  __syncthreads();
  fetch_patch(m->patch[0], x, m->source, plane);
  fetch_weights(m->weights[0], arranged, STEPS * BLOCK_M * 8);
  copy_commit();
  float sum[M_TILES][4][4] = {};
  for (int chunk = 0; chunk < INPUTS / CHANNELS; chunk++) {
    copy_wait_all();
    __syncthreads(); // the chunk is there, and the product before it is done
    if (chunk + 1 < INPUTS / CHANNELS) {
      fetch_patch(m->patch[(chunk + 1) % 2], x + (chunk + 1) * CHANNELS * (long long)plane, m->source, plane);
      fetch_weights(m->weights[(chunk + 1) % 2], arranged + (chunk + 1) * (STEPS * BLOCK_M * 8), STEPS * BLOCK_M * 8);
    }
    copy_commit();
    convolve_depth(m->between, m->patch[chunk % 2], &m->depth[chunk * CHANNELS]);
#ifndef ONE_BARRIER
    __syncthreads();
#endif
    add_products(sum, m->between, m->weights[chunk % 2]);
  }
  __syncthreads();
  // Sums go by way of shared memory, so that lanes write neighbours.
  float *stage = m->stage[warp], largest = 0;
#pragma unroll
  for (int t = 0; t < M_TILES; t++)
#pragma unroll
    for (int j = 0; j < 16; j++)
      largest = fmaxf(largest, fabsf(sum[t][j / 4][j % 4]));
  const bool exactly = __all_sync(0xffffffff, largest < 0x1p-60f);
  const int row = top + warp % N_WARPS, column = left + lane;
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
    int feature = first + (warp / N_WARPS * M_TILES + t) * 16;
    for (int i = 0; i < 16 && feature + i < features; i++) {
      float value = stage[i * STAGE_PITCH + lane];
      if (row < h && column < w) {
        if (exactly)
          value = by_definition(x, depth, point, feature + i, row, column, h, w);
        __stcs(&y[(feature + i) * (long long)plane + row * w + column], value);
      }
    }
  }
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const int64_t *in = args->inputs[0].dims;
  const float *x = (const float *)args->inputs[0].data, *depth = (const float *)args->inputs[1].data;
  const float *point = (const float *)args->inputs[2].data;
  float *y = (float *)args->outputs[0].data, *arranged;
  int features = (int)args->inputs[2].dims[0], h = (int)in[2], w = (int)in[3];
  int blocks = (features + BLOCK_M - 1) / BLOCK_M, total = blocks * INPUTS * BLOCK_M;
  dim3 grid((w + TW - 1) / TW * ((h + TH - 1) / TH), blocks, (unsigned int)in[0]);
  cudaFuncSetAttribute(convolve, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sizeof(union memory));
  cudaMallocAsync((void **)&arranged, sizeof(float) * total, stream);
  arrange<<<(total + 255) / 256, 256, 0, stream>>>(point, arranged, features, total);
  convolve<<<grid, THREADS, sizeof(union memory), stream>>>(x, depth, point, arranged, y, features, h, w);
  cudaFreeAsync(arranged, stream);
}
#endif
