// Convolution of images with 3 x 3 kernels, the least over the channels, through tanh twice.
// assay: task kernelbench/2/25
// assay: twin ONE_PRODUCT expect low_precision|wrong_value -- adds the products of the larger parts only
// assay: twin TANH_ONCE expect wrong_value -- leaves the second tanh out
// A product of matrices that are never made, on the tensor cores of Hopper (wgmma): a block makes 64 channels of tiles
// of 8 x 16 outputs, one tile after another. The copy engine brings what a tile's taps reach of eight channels, zeros
// around the image included, and the weights of three taps at a time, which a first launch has put in order. The
// outputs' side of the product comes from registers, so that a tap is only another address to load from, and is split
// into two numbers of TF32 on the way; the tensor core ignores all but the larger part of a weight, and three warps put
// the smaller part next to it. Three products of the four are added, the smaller ones first; the sums of three taps are
// added to the rest outside of the tensor cores, which do not round. Two groups of four warps multiply, each half of a
// tile's rows, so that one has work while the other loads, adds or writes. Where infinity or NaN came out, or less than
// 2^-90, the parts cannot be trusted, and the output is computed again term by term. The channels of an output are sums
// of four threads, so that nothing but the least of them is written. The copy engine wants rows of a multiple of 16
// bytes: other images go to a plain kernel, and so do those of less than eight channels, where the 2^-22 of a product
// would be more than rounding in single precision costs.
// assay: let whole = W % 4 == 0 && CI >= 8 && CO <= 64
// assay: let tiles = N * ceil_div(y.2, 8) * ceil_div(y.3, 16) * ceil_div(CO, 64)
// assay: let total = ceil_div(CO, 64) * ceil_div(CI, 8) * 4608
// assay: scratch arranged float[total]
// assay: tensor_map tx of=x type=float dims=whole ? W : 1,whole ? H : 1,whole ? CI : 1,whole ? N : 1 \
//   strides=whole ? W : 4,whole ? H * W : 4,whole ? CI * H * W : 4 box=20,10,8,1 l2=256
// assay: launch arrange grid=ceil_div(total, 256) block=256 if=whole \
//   args=conv_weight, arranged, CI, CO, total
// assay: launch convolve grid=min(tiles, 132) block=384 shared=148608 if=whole \
//   args=tx, x, conv_weight, arranged, y, \
//   {int(N), int(CI), int(CO), int(H), int(W), int(y.2), int(y.3)}, {conv_bias}
// assay: launch convolve_plain grid=ceil_div(y.count, 256) block=256 if=!whole \
//   args=x, conv_weight, y, \
//   {int(N), int(CI), int(CO), int(H), int(W), int(y.2), int(y.3)}, {conv_bias}
#ifdef __CUDACC_RTC__
typedef struct alignas(64) CUtensorMap_st {
  unsigned long long opaque[16];
} CUtensorMap;
#else
#include <assay/cuda.h>
#include <cuda.h>
#endif

enum { KH = 3, KW = 3 };          // taps
enum { PAD_H = 0, PAD_W = 0 };    // zeros before the input
enum { TILE_H = 8, TILE_W = 16 }; // outputs: a row of them for each warp that multiplies
enum { CHANNELS = 8 };            // of the input in a chunk
enum { FEATURES = 64 };           // output channels of a tile
enum { PART = 3 };                // taps that the tensor cores add up
enum { PATCHES = 4, STAGES = 10, THREADS = 384, BLOCKS = 132, SPLITTERS = 96 };

enum {
  TAPS = KH * KW,
  SLICES = TAPS / PART,
  PATCH_W = 20, // whole pieces of 16 bytes
  PATCH_H = 10,
  PLANE = PATCH_H * PATCH_W,
  PATCH_BYTES = CHANNELS * PLANE * 4,
  STEP_FLOATS = 8 * FEATURES, // weights of a tap and eight channels
  WEIGHT_BYTES = PART * STEP_FLOATS * 4,
  SHARED = PATCHES * PATCH_BYTES + STAGES * 2 * WEIGHT_BYTES + 128
};
static_assert(TAPS % PART == 0 && PATCH_H >= TILE_H + KH - 1 && PATCH_W >= TILE_W + KW - 1,
              "the patch is large enough");
static_assert(PLANE % 16 == 8, "four channels lie in different banks");
static_assert(SHARED == 148608, "as the launch line says");

struct sizes {
  int images, channels, features; // channels of the input, features of the output
  int h, w, oh, ow;
};

// What belongs to the output channels.
struct parameters {
  const float *conv_bias;
};

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

// The box at (x, y) and eight channels from c of image n, to shared memory; the barrier counts its bytes.
static __device__ void fetch_patch(void *to, const CUtensorMap *map, int x, int y, int c, int n,
                                   unsigned long long *barrier) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, "
               "%5}], [%6];" ::"r"(shared_address(to)),
               "l"(map), "r"(x), "r"(y), "r"(c), "r"(n), "r"(shared_address(barrier))
               : "memory");
}

static __device__ void fetch_bytes(void *to, const void *from, int bytes, unsigned long long *barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(barrier))
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

// The wgmma descriptor of the weights of a tap, without swizzle: eight features of 16 bytes (four channels each) one
// after another, the next eight 128 bytes on, the other four channels after all features.
static __device__ unsigned long long describe(const void *weights) {
  return (unsigned long long)((shared_address(weights) & 0x3ffff) >> 4) | (unsigned long long)FEATURES << 16 |
         (unsigned long long)(128 >> 4) << 32;
}

// d (+)= 64 x 8 from registers times 8 x 64 from shared memory.
static __device__ void multiply(float (&d)[32], const unsigned int (&x)[4], unsigned long long rows, bool add) {
  asm volatile("{\n"
               ".reg .pred p;\n"
               "setp.ne.b32 p, %37, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {"
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
               "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
               "}, {%32, %33, %34, %35}, %36, p, 1, 1;\n"
               "}"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                 "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                 "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                 "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
               : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(rows), "r"((int)add));
}

// Keeps the compiler from reading the sums before they are complete.
static __device__ void hold(float (&d)[FEATURES / 2]) {
#pragma unroll
  for (int i = 0; i < FEATURES / 2; i++)
    asm volatile("" : "+f"(d[i])::"memory");
}

// Keeps the compiler from splitting terms after the products have begun.
static __device__ void hold(unsigned int (&large)[PART][4], unsigned int (&small)[PART][4]) {
#pragma unroll
  for (int i = 0; i < PART * 4; i++)
    asm volatile("" : "+r"(large[i / 4][i % 4]), "+r"(small[i / 4][i % 4])::"memory");
}

// To the nearest number of TF32, which keeps ten bits of the fraction.
static __device__ unsigned int to_tf32(float x) {
  unsigned int r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}

// A block's position in a ring of so many slots: the slot, and how often it went round.
template <int SLOTS> struct ring {
  int slot, parity;
  __device__ void next() {
    if (++slot == SLOTS) {
      slot = 0;
      parity ^= 1;
    }
  }
};

// What a block works at: the image, the first feature, the first output.
struct place {
  int n, feature, h, w;
};

static __device__ struct place place_of(int tile, struct sizes s) {
  int blocks = (s.features + FEATURES - 1) / FEATURES;
  int across = (s.ow + TILE_W - 1) / TILE_W, down = (s.oh + TILE_H - 1) / TILE_H, rest = tile / blocks;
  return {rest / across / down, tile % blocks * FEATURES, rest / across % down * TILE_H, rest % across * TILE_W};
}

static __device__ int tile_count(struct sizes s) {
  int blocks = (s.features + FEATURES - 1) / FEATURES;
  return s.images * blocks * ((s.ow + TILE_W - 1) / TILE_W) * ((s.oh + TILE_H - 1) / TILE_H);
}

static __device__ int chunk_count(struct sizes s) {
  return (s.channels + CHANNELS - 1) / CHANNELS;
}

// Brings the weights into the order [block of features][chunk][tap][half of the chunk][feature][4], zeros where
// features or channels end.
__global__ void arrange(const float *__restrict__ w, float *__restrict__ to, int channels, int features, int total) {
  int at = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (at >= total)
    return;
  int chunks = (channels + CHANNELS - 1) / CHANNELS, rest = at / STEP_FLOATS;
  int k = at % 4 + at / (4 * FEATURES) % 2 * 4, tap = rest % TAPS, channel = rest / TAPS % chunks * CHANNELS + k;
  int feature = rest / (TAPS * chunks) * FEATURES + at / 4 % FEATURES;
  bool inside = feature < features && channel < channels;
  to[at] = inside ? w[(feature * channels + channel) * TAPS + tap] : 0;
}

// An output by the definition.
static __device__ __noinline__ float by_definition(const float *x, const float *w, const struct sizes &s, int n,
                                                   int feature, int oh, int ow) {
  float sum = 0;
  for (int c = 0; c < s.channels; c++)
    for (int tap = 0; tap < TAPS; tap++) {
      int h = oh - PAD_H + tap / KW, from_w = ow - PAD_W + tap % KW;
      bool inside = h >= 0 && h < s.h && from_w >= 0 && from_w < s.w;
      long long weight = ((long long)feature * s.channels + c) * TAPS + tap;
      if (inside)
        sum += x[(((long long)n * s.channels + c) * s.h + h) * s.w + from_w] * w[weight];
    }
  return sum;
}

static __device__ void bring(const CUtensorMap *tx, const float *arranged, unsigned char *patches,
                             unsigned char *weights, unsigned long long *patch_full, unsigned long long *patch_empty,
                             unsigned long long *full, unsigned long long *empty, struct sizes s) {
  ring<PATCHES> of_patches = {0, 1};
  ring<STAGES> at = {0, 1};
  const int chunks = chunk_count(s);
  for (int tile = (int)blockIdx.x; tile < tile_count(s); tile += (int)gridDim.x) {
    struct place to = place_of(tile, s);
    const float *from = arranged + (long long)(to.feature / FEATURES) * chunks * TAPS * STEP_FLOATS;
    for (int chunk = 0; chunk < chunks; chunk++, of_patches.next()) {
      barrier_wait(&patch_empty[of_patches.slot], of_patches.parity);
      barrier_expect(&patch_full[of_patches.slot], PATCH_BYTES);
      fetch_patch(patches + of_patches.slot * PATCH_BYTES, tx, to.w - PAD_W, to.h - PAD_H, chunk * CHANNELS, to.n,
                  &patch_full[of_patches.slot]);
      for (int slice = 0; slice < SLICES; slice++, at.next(), from += PART * STEP_FLOATS) {
        barrier_wait(&empty[at.slot], at.parity);
        barrier_expect(&full[at.slot], WEIGHT_BYTES);
        fetch_bytes(weights + at.slot * WEIGHT_BYTES, from, WEIGHT_BYTES, &full[at.slot]);
      }
    }
  }
}

// What the tensor core leaves out when it reads a float as a number of TF32, rounded to one.
static __device__ float rest_of(float x) {
  return __uint_as_float(to_tf32(x - __uint_as_float(__float_as_uint(x) & 0xffffe000u)));
}

static __device__ void split_weights(const unsigned char *weights, unsigned char *small, unsigned long long *full,
                                     unsigned long long *ready, struct sizes s) {
  ring<STAGES> at = {0, 0};
  for (int tile = (int)blockIdx.x; tile < tile_count(s); tile += (int)gridDim.x)
    for (int slice = 0; slice < chunk_count(s) * SLICES; slice++, at.next()) {
      barrier_wait(&full[at.slot], at.parity);
      const float4 *from = (const float4 *)(weights + at.slot * WEIGHT_BYTES);
      float4 *to = (float4 *)(small + at.slot * WEIGHT_BYTES);
#pragma unroll 4
      for (int i = (int)threadIdx.x - 32; i < WEIGHT_BYTES / 16; i += SPLITTERS) {
        float4 v = from[i];
        to[i] = make_float4(rest_of(v.x), rest_of(v.y), rest_of(v.z), rest_of(v.w));
      }
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); // the tensor core reads through the async proxy
      __syncwarp();
      if (threadIdx.x % 32 == 0)
        barrier_arrive(&ready[at.slot]);
    }
}

static __device__ float candidate(float conv, const struct parameters &p, int feature) {
  return conv + __ldg(&p.conv_bias[feature]);
}

static __device__ float finished(float least) {
#ifdef TANH_ONCE
  return tanhf(least);
#else
  return tanhf(tanhf(least));
#endif
}

// A sum as it is, or by the definition where it cannot be trusted.
static __device__ float checked(float sum, const float *x, const float *w, const struct sizes &s, int n, int feature,
                                int oh, int ow) {
  bool trusted = fabsf(sum) >= 0x1p-90f && fabsf(sum) <= 3.4028235e38f;
  return trusted ? sum : by_definition(x, w, s, n, feature, oh, ow);
}

// What a thread has of a tile: of row `warp` the outputs `row` and row + 8, of these the features 8 i + 2 term and the
// next one. Four threads have all of an output.
static __device__ void finish_tile(const float (&sum)[FEATURES / 2], const float *x, const float *w, float *y,
                                   struct place at, const struct sizes &s, const struct parameters &p, int warp,
                                   int row, int term) {
  const int oh = at.h + warp;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    int ow = at.w + row + 8 * i;
    bool inside = oh < s.oh && ow < s.ow;
    float least = __uint_as_float(0x7f800000);
#pragma unroll
    for (int j = 0; j < FEATURES / 2; j++)
      if (j % 4 / 2 == i) {
        int feature = j / 4 * 8 + 2 * term + j % 2;
        if (inside && feature < s.features)
          least = fminf(least, candidate(checked(sum[j], x, w, s, at.n, feature, oh, ow), p, feature));
      }
    least = fminf(least, __shfl_xor_sync(0xffffffff, least, 1));
    least = fminf(least, __shfl_xor_sync(0xffffffff, least, 2));
    if (inside && term == 0)
      y[((long long)at.n * s.oh + oh) * s.ow + ow] = finished(least);
  }
}

static __device__ void make_tiles(const float *x, const float *w, float *y, const unsigned char *patches,
                                  const unsigned char *weights, const unsigned char *small,
                                  unsigned long long *patch_full, unsigned long long *patch_empty,
                                  unsigned long long *full, unsigned long long *ready, unsigned long long *empty,
                                  const struct sizes &s, const struct parameters &p) {
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32 - 4, row = lane / 4, term = lane % 4;
  ring<PATCHES> of_patches = {0, 0};
  ring<STAGES> at = {0, 0};
  const int chunks = chunk_count(s);
  float sum[FEATURES / 2], part[FEATURES / 2];
  for (int tile = (int)blockIdx.x; tile < tile_count(s); tile += (int)gridDim.x) {
#pragma unroll
    for (int i = 0; i < FEATURES / 2; i++)
      sum[i] = 0;
    for (int chunk = 0; chunk < chunks; chunk++, of_patches.next()) {
      barrier_wait(&patch_full[of_patches.slot], of_patches.parity);
      const float *patch =
          (const float *)(patches + of_patches.slot * PATCH_BYTES) + term * PLANE + warp * PATCH_W + row;
#pragma unroll
      for (int slice = 0; slice < SLICES; slice++, at.next()) {
        unsigned int large_x[PART][4], small_x[PART][4];
#pragma unroll
        for (int step = 0; step < PART; step++) {
          const int tap = slice * PART + step;
#pragma unroll
          for (int i = 0; i < 4; i++) {
            float v = patch[tap / KW * PATCH_W + tap % KW + i % 2 * 8 + i / 2 * 4 * PLANE];
            large_x[step][i] = to_tf32(v);
            small_x[step][i] = __float_as_uint(v - __uint_as_float(large_x[step][i]));
          }
        }
        if (slice == SLICES - 1) {
          __syncwarp();
          if (lane == 0)
            barrier_arrive(&patch_empty[of_patches.slot]);
        }
        barrier_wait(&full[at.slot], at.parity);
        barrier_wait(&ready[at.slot], at.parity);
        unsigned long long large_w = describe(weights + at.slot * WEIGHT_BYTES),
                           small_w = describe(small + at.slot * WEIGHT_BYTES);
        hold(large_x, small_x);
        warpgroup_fence();
#ifndef ONE_PRODUCT
#pragma unroll
        for (int step = 0; step < PART; step++) {
          multiply(part, small_x[step], large_w + step * (STEP_FLOATS * 4 >> 4), step > 0);
          multiply(part, large_x[step], small_w + step * (STEP_FLOATS * 4 >> 4), true);
        }
        bool begun = true;
#else
        (void)small_x;
        (void)small_w;
        bool begun = false;
#endif
#pragma unroll
        for (int step = 0; step < PART; step++)
          multiply(part, large_x[step], large_w + step * (STEP_FLOATS * 4 >> 4), begun || step > 0);
        warpgroup_commit();
        warpgroup_wait<0>(); // the other group has work meanwhile
        if (lane == 0)
          barrier_arrive(&empty[at.slot]);
        hold(part);
#pragma unroll
        for (int i = 0; i < FEATURES / 2; i++)
          sum[i] += part[i];
      }
    }
    finish_tile(sum, x, w, y, place_of(tile, s), s, p, warp, row, term);
  }
}

__global__ void __launch_bounds__(THREADS, 1)
    convolve(const __grid_constant__ CUtensorMap tx, const float *x, const float *w, const float *arranged, float *y,
             const __grid_constant__ struct sizes s, const __grid_constant__ struct parameters p) {
  extern __shared__ unsigned char memory[];
  __shared__ unsigned long long patch_full[PATCHES], patch_empty[PATCHES], full[STAGES], ready[STAGES], empty[STAGES];
  unsigned char *patches = memory + (128 - shared_address(memory) % 128) % 128;
  unsigned char *weights = patches + PATCHES * PATCH_BYTES, *small = weights + STAGES * WEIGHT_BYTES;
  if (threadIdx.x == 0) {
    for (int i = 0; i < PATCHES; i++) {
      barrier_init(&patch_full[i], 1);
      barrier_init(&patch_empty[i], 8); // warps that multiply
    }
    for (int i = 0; i < STAGES; i++) {
      barrier_init(&full[i], 1);
      barrier_init(&ready[i], SPLITTERS / 32);
      barrier_init(&empty[i], 8);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0)
      bring(&tx, arranged, patches, weights, patch_full, patch_empty, full, empty, s);
    else if (threadIdx.x >= 32)
      split_weights(weights, small, full, ready, s);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    make_tiles(x, w, y, patches, weights, small, patch_full, patch_empty, full, ready, empty, s, p);
  }
}

// Any shape, an output a thread.
__global__ void __launch_bounds__(256)
    convolve_plain(const float *x, const float *w, float *y, const __grid_constant__ struct sizes s,
                   const __grid_constant__ struct parameters p) {
  const long long i = blockIdx.x * 256ll + threadIdx.x, plane = (long long)s.oh * s.ow;
  int n = (int)(i / plane);
  float least = __uint_as_float(0x7f800000);
  if (n >= s.images)
    return;
  for (int feature = 0; feature < s.features; feature++)
    least = fminf(least,
                  candidate(by_definition(x, w, s, n, feature, (int)(i % plane / s.ow), (int)(i % s.ow)), p, feature));
  y[i] = finished(least);
}

#ifndef __CUDACC_RTC__
typedef CUresult encode_function(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                                 const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,
                                 CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

// A tensor map of the images in boxes of a patch.
static CUtensorMap encode(const struct assay_tensor *t) {
  const int64_t *d = t->dims;
  cuuint64_t dims[] = {(cuuint64_t)d[3], (cuuint64_t)d[2], (cuuint64_t)d[1], (cuuint64_t)d[0]};
  cuuint64_t strides[] = {dims[0] * 4, dims[0] * dims[1] * 4, dims[0] * dims[1] * dims[2] * 4};
  cuuint32_t box[] = {PATCH_W, PATCH_H, CHANNELS, 1}, steps[] = {1, 1, 1, 1};
  CUtensorMap map;
  void *function = NULL;
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
  ((encode_function *)function)(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, t->data, dims, strides, box, steps,
                                CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return map;
}

static int ceil_div(long long a, long long b) {
  return (int)((a + b - 1) / b);
}

extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const struct assay_tensor *in = args->inputs, *out = args->outputs;
  const float *x = (const float *)in[0].data, *w = (const float *)in[1].data;
  float *y = (float *)out->data, *arranged;
  struct sizes s = {(int)in[0].dims[0], (int)in[0].dims[1], (int)in[1].dims[0], (int)in[0].dims[2],
                    (int)in[0].dims[3], (int)out->dims[2],  (int)out->dims[3]};
  struct parameters p = {(const float *)in[2].data};
  int blocks = ceil_div(s.features, FEATURES), total = blocks * ceil_div(s.channels, CHANNELS) * TAPS * STEP_FLOATS;
  int tiles = s.images * ceil_div(s.oh, TILE_H) * ceil_div(s.ow, TILE_W) * blocks;
  cudaMallocAsync((void **)&arranged, sizeof(float) * total, stream);
  if (s.w % 4 == 0 && s.channels >= 8 && s.features <= FEATURES) {
    CUtensorMap tx = encode(&in[0]);
    arrange<<<ceil_div(total, 256), 256, 0, stream>>>(w, arranged, s.channels, s.features, total);
    cudaFuncSetAttribute(convolve, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED);
    convolve<<<(unsigned int)(tiles < BLOCKS ? tiles : BLOCKS), THREADS, SHARED, stream>>>(tx, x, w, arranged, y, s, p);
  } else {
    convolve_plain<<<ceil_div(assay_count(out), 256), 256, 0, stream>>>(x, w, y, s, p);
  }
  cudaFreeAsync(arranged, stream);
}
#endif
