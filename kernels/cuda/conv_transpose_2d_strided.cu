// Transposed convolution of images with stride 5, padded, dilated.
// assay: task kernelbench/1/81
// assay: twin EMPTY expect unwritten|wrong_value -- forgets the outputs that no tap reaches
// assay: twin TAIL expect unwritten|wrong_value -- drops the last columns where the width is no multiple of four
// Strides are so wide that at most one tap reaches an output: of five rows two are zeros, and each of the others has
// one row of the input and one of taps; an element of that row makes five outputs side by side, two of them zeros. So
// little is to be multiplied that single precision is fast enough, and what is left is to write whole rows: a block of
// eight warps makes a row of up to 640 outputs in 32 channels, a warp four of them, from 32 channels of the input at a
// time in shared memory; sums go through shared memory to where neighbours are written side by side. Rows in which all
// is zero are written likewise. What limits it is the writing of outputs.
// assay: let tiles = ceil_div(W, 128)
// assay: launch convolve grid=y.2 * tiles,ceil_div(CO, 32),N block=256 \
//   args=x, w, y, {int(CI), int(CO), int(H), int(W), int(y.2), int(y.3)}, tiles
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { KH = 3, KW = 3, STRIDE = 5, DILATION = 2, PAD = 1 };
enum { LANE = 4 };         // elements of the input of a lane, side by side
enum { TILE = 32 * LANE }; // ... and of a block
enum { WARPS = 8, THREADS = 32 * WARPS, PER_WARP = 4 };
enum { BLOCK_M = WARPS * PER_WARP }; // output channels of a block
enum { CHANNELS = 32 };              // of the input in a chunk
static_assert((KW - 1) * DILATION < STRIDE && (KH - 1) * DILATION < STRIDE, "one tap for an output");

struct sizes {
  int channels, features; // of the input and of the output
  int h, w, oh, ow;
};

union memory {
  struct {
    alignas(16) float x[CHANNELS][TILE];
    float w[CHANNELS][KW][BLOCK_M];
  };
  alignas(16) float stage[WARPS][STRIDE * TILE]; // at the end, a row of outputs of a warp
};

// What a block works at.
struct place {
  int n, feature, row, column; // the image, the first output channel, the row of outputs, the first of the input
  int from, tap;               // what reaches the row: a row of the input and one of taps, or KH for none
};

static __device__ place place_of_block(int tiles) {
  int row = (int)blockIdx.x / tiles, apart = (row + PAD) % STRIDE;
  int tap = apart % DILATION == 0 && apart / DILATION < KH ? apart / DILATION : KH;
  return {(int)blockIdx.z, (int)blockIdx.y * BLOCK_M, row, (int)blockIdx.x % tiles * TILE, (row + PAD) / STRIDE, tap};
}

// Brings channels of the input and their weights; what does not exist is zero.
static __device__ void fetch(union memory *m, const float *x, const float *w, const place &at, const sizes &s, int c) {
  const float *from = x + (((long long)at.n * s.channels + c) * s.h + at.from) * s.w + at.column;
#pragma unroll 8
  for (int i = (int)threadIdx.x; i < CHANNELS * TILE; i += THREADS) {
    int channel = i / TILE, column = i % TILE;
    bool inside = c + channel < s.channels && at.column + column < s.w;
    m->x[channel][column] = inside ? __ldg(&from[(long long)channel * s.h * s.w + column]) : 0;
  }
#pragma unroll 4
  for (int i = (int)threadIdx.x; i < CHANNELS * KW * BLOCK_M; i += THREADS) {
    int tap = i % KW, feature = i / KW % BLOCK_M, channel = i / (KW * BLOCK_M);
    bool inside = c + channel < s.channels && at.feature + feature < s.features;
    long long to = ((long long)(c + channel) * s.features + at.feature + feature) * KH * KW + at.tap * KW + tap;
    m->w[channel][tap][feature] = inside ? __ldg(&w[to]) : 0;
  }
}

static __device__ void add_products(float (&sum)[PER_WARP][KW][LANE], const union memory *m) {
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
#pragma unroll 4
  for (int c = 0; c < CHANNELS; c++) {
    float4 v = *(const float4 *)&m->x[c][lane * LANE];
    float x[LANE] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int tap = 0; tap < KW; tap++) {
      float4 u = *(const float4 *)&m->w[c][tap][warp * PER_WARP];
      float w[PER_WARP] = {u.x, u.y, u.z, u.w};
#pragma unroll
      for (int i = 0; i < PER_WARP; i++)
#pragma unroll
        for (int j = 0; j < LANE; j++)
          sum[i][tap][j] = fmaf(x[j], w[i], sum[i][tap][j]);
    }
  }
}

// Writes a row of outputs of one channel, by way of shared memory so that lanes write neighbours.
static __device__ void store(const float (&sum)[KW][LANE], float *stage, float *y, const place &at, const sizes &s) {
  const int lane = (int)threadIdx.x % 32;
  float row[LANE][STRIDE];
#pragma unroll
  for (int j = 0; j < LANE; j++)
#pragma unroll
    for (int k = 0; k < STRIDE; k++)
      row[j][k] = k % DILATION == 0 && k / DILATION < KW ? sum[k / DILATION][j] : 0;
  const float *flat = &row[0][0];
#pragma unroll
  for (int k = 0; k < LANE * STRIDE; k += 4)
    *(float4 *)&stage[lane * LANE * STRIDE + k] = make_float4(flat[k], flat[k + 1], flat[k + 2], flat[k + 3]);
  __syncwarp();
  const int first = at.column * STRIDE - PAD;
#ifdef TAIL
  const int stop = s.ow / 4 * 4;
#else
  const int stop = s.ow;
#endif
#pragma unroll
  for (int i = lane; i < STRIDE * TILE; i += 32)
    if (first + i >= 0 && first + i < stop)
      __stcs(&y[first + i], stage[i]);
  __syncwarp();
}

__global__ void __launch_bounds__(THREADS, 2) convolve(const float *__restrict__ x, const float *__restrict__ w,
                                                       float *__restrict__ y, struct sizes s, int tiles) {
  __shared__ union memory m;
  const place at = place_of_block(tiles);
#ifdef EMPTY
  if (at.tap == KH)
    return;
#endif
  float sum[PER_WARP][KW][LANE] = {};
  for (int c = 0; at.tap < KH && c < s.channels; c += CHANNELS) {
    __syncthreads(); // the chunk before has been read
    fetch(&m, x, w, at, s, c);
    __syncthreads();
    add_products(sum, &m);
  }
  __syncthreads();
  const int warp = (int)threadIdx.x / 32, feature = at.feature + warp * PER_WARP;
#pragma unroll
  for (int i = 0; i < PER_WARP; i++)
    if (feature + i < s.features)
      store(sum[i], m.stage[warp], y + (((long long)at.n * s.features + feature + i) * s.oh + at.row) * s.ow, at, s);
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  const float *x = (const float *)args->inputs[0].data, *w = (const float *)args->inputs[1].data;
  float *y = (float *)args->outputs[0].data;
  struct sizes s = {(int)in[1], (int)out[1], (int)in[2], (int)in[3], (int)out[2], (int)out[3]};
  int tiles = (s.w + TILE - 1) / TILE;
  convolve<<<dim3((unsigned int)(s.oh * tiles), (unsigned int)((s.features + BLOCK_M - 1) / BLOCK_M),
                  (unsigned int)in[0]),
             THREADS, 0, stream>>>(x, w, y, s, tiles);
}
#endif
