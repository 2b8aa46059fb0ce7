// Mean over strided windows of volumes, padding counted.
// assay: task kernelbench/1/46
// assay: twin NOT_COUNTED expect wrong_value -- divides by the elements that are no padding
// assay: twin LATE_PLANE expect wrong_value -- adds the plane behind the window instead of its last
// Windows take 3 x 3 x 3 elements and go on by two. A thread makes 2 x 2 of them, side by side and one above the other,
// of vectors of five rows, and walks along the depth: the sums over the rows of an odd plane serve two windows and are
// kept in registers until then. The column to the left of a vector is added up by its neighbour in the warp; the first
// of a warp does it itself. Where rows do not begin at multiples of 16 bytes, a thread makes one window at a time,
// element by element.
// assay: let OD = (D - 1) / 2 + 1
// assay: let OH = (H - 1) / 2 + 1
// assay: let OW = (W - 1) / 2 + 1
// assay: let wide = W % 4 == 0
// assay: let strips = ceil_div(OH, 8)
// assay: launch avg_pool_3d grid=ceil_div(W, 256),strips * ceil_div(OD, 32),N * C block=64,4 if=wide \
//   args=x, y, D, H, W, strips
// assay: launch avg_pool_3d_plain grid=ceil_div(OW, 32),strips * ceil_div(OD, 32),N * C block=32,8 if=!wide \
//   args=x, y, D, H, W, strips
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { DEPTH = 32 }; // windows that a thread walks along

#ifdef NOT_COUNTED
static __device__ int inside(int begin, int extent) {
  return min(begin + 3, extent) - max(begin, 0);
}
#endif

// The mean of the window that begins at (plane, top, left), of its sum.
static __device__ float mean(float sum, int plane, int top, int left, int D, int H, int W) {
#ifdef NOT_COUNTED
  return sum / (float)(inside(plane, D) * inside(top, H) * inside(left, W));
#else
  return sum / 27;
#endif
}

// Sums over three rows each, for a window and for the one below it: of a vector, and of the column to the left of it.
struct rows {
  float4 upper, lower;
  float upper_left, lower_left;
};

static __device__ float4 add(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

static __device__ rows add(const rows &a, const rows &b) {
  return {add(a.upper, b.upper), add(a.lower, b.lower), a.upper_left + b.upper_left, a.lower_left + b.lower_left};
}

// Of five rows of a plane from `top` on, of which some may not exist; `x` is where the thread's vector would be in row
// 0 of plane 0, and `from_left` says whether the column to the left of it is this thread's.
static __device__ rows rows_of(const float *x, int plane, int top, bool there, bool from_left, int D, int H, int W) {
  float4 v[5];
  float left[5];
#pragma unroll
  for (int i = 0; i < 5; i++) {
    bool exists = there && plane >= 0 && plane < D && top + i >= 0 && top + i < H;
    const float *from = x + ((long long)plane * H + top + i) * W;
    v[i] = exists ? *(const float4 *)from : make_float4(0, 0, 0, 0);
    left[i] = exists && from_left ? from[-1] : 0;
  }
  return {add(add(v[0], v[1]), v[2]), add(add(v[2], v[3]), v[4]), (left[0] + left[1]) + left[2],
          (left[2] + left[3]) + left[4]};
}

// Two windows side by side.
static __device__ void store(float *y, float4 sum, float left, bool there, int plane, int top, int column, int D, int H,
                             int W) {
  float neighbour = __shfl_up_sync(0xffffffffu, sum.w, 1);
  if (threadIdx.x % 32 > 0)
    left = neighbour;
  float first = mean(left + sum.x + sum.y, plane, top, column - 1, D, H, W);
  float second = mean(sum.y + sum.z + sum.w, plane, top, column + 1, D, H, W);
  if (there)
    __stcs((float2 *)y, make_float2(first, second));
}

__global__ void __launch_bounds__(256)
    avg_pool_3d(const float *__restrict__ x, float *__restrict__ y, int D, int H, int W, int strips) {
  int OD = (D - 1) / 2 + 1, OH = (H - 1) / 2 + 1, OW = (W - 1) / 2 + 1;
  int column = (int)(blockIdx.x * 64 + threadIdx.x) * 4;
  int oh = (int)(blockIdx.y % strips * 4 + threadIdx.y) * 2, top = 2 * oh - 1;
  int od = (int)(blockIdx.y / strips) * DEPTH, stop = min(OD, od + DEPTH);
  bool there = column < W, from_left = threadIdx.x % 32 == 0 && column > 0;
  x += (long long)blockIdx.z * D * H * W + column;
  y += ((long long)blockIdx.z * OD * OH + oh) * OW + column / 2;
  rows before = rows_of(x, 2 * od - 1, top, there, from_left, D, H, W);
  for (; od < stop; od++) {
    rows even = rows_of(x, 2 * od, top, there, from_left, D, H, W);
    rows odd = rows_of(x, 2 * od + 1, top, there, from_left, D, H, W);
#ifdef LATE_PLANE
    odd = rows_of(x, 2 * od + 2, top, there, from_left, D, H, W);
#endif
    rows sum = add(add(before, even), odd);
    float *to = y + (long long)od * OH * OW;
    store(to, sum.upper, sum.upper_left, there && oh < OH, 2 * od - 1, top, column, D, H, W);
    store(to + OW, sum.lower, sum.lower_left, there && oh + 1 < OH, 2 * od - 1, top + 2, column, D, H, W);
    before = odd;
  }
}

// The sum over what a window covers of one plane.
static __device__ float across(const float *x, int plane, int top, int left, int D, int H, int W) {
  float r = 0;
  if (plane < 0 || plane >= D)
    return r;
#pragma unroll
  for (int i = 0; i < 3; i++) {
    const float *row = x + ((long long)plane * H + top + i) * W;
#pragma unroll
    for (int j = 0; j < 3; j++)
      if (top + i >= 0 && top + i < H && left + j >= 0 && left + j < W)
        r += row[left + j];
  }
  return r;
}

// Any shape.
__global__ void __launch_bounds__(256)
    avg_pool_3d_plain(const float *__restrict__ x, float *__restrict__ y, int D, int H, int W, int strips) {
  int OD = (D - 1) / 2 + 1, OH = (H - 1) / 2 + 1, OW = (W - 1) / 2 + 1;
  int ow = (int)(blockIdx.x * 32 + threadIdx.x), oh = (int)(blockIdx.y % strips * 8 + threadIdx.y);
  int od = (int)(blockIdx.y / strips) * DEPTH, stop = min(OD, od + DEPTH);
  if (ow >= OW || oh >= OH)
    return;
  x += (long long)blockIdx.z * D * H * W;
  y += ((long long)blockIdx.z * OD * OH + oh) * OW + ow;
  int top = 2 * oh - 1, left = 2 * ow - 1;
  float before = across(x, 2 * od - 1, top, left, D, H, W);
  for (; od < stop; od++) {
    float even = across(x, 2 * od, top, left, D, H, W), odd = across(x, 2 * od + 1, top, left, D, H, W);
#ifdef LATE_PLANE
    odd = across(x, 2 * od + 2, top, left, D, H, W);
#endif
    y[(long long)od * OH * OW] = mean(before + even + odd, 2 * od - 1, top, left, D, H, W);
    before = odd;
  }
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const int64_t *dims = args->inputs[0].dims;
  int planes = (int)(dims[0] * dims[1]), D = (int)dims[2], H = (int)dims[3], W = (int)dims[4];
  int OD = (D - 1) / 2 + 1, OH = (H - 1) / 2 + 1, OW = (W - 1) / 2 + 1, strips = (OH + 7) / 8;
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  dim3 blocks((unsigned int)((W + 255) / 256), (unsigned int)(strips * ((OD + DEPTH - 1) / DEPTH)),
              (unsigned int)planes);
  if (W % 4 == 0) {
    avg_pool_3d<<<blocks, dim3(64, 4), 0, stream>>>(x, y, D, H, W, strips);
  } else {
    blocks.x = (unsigned int)((OW + 31) / 32);
    avg_pool_3d_plain<<<blocks, dim3(32, 8), 0, stream>>>(x, y, D, H, W, strips);
  }
}
#endif
