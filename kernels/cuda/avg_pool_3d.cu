// Mean over strided windows of volumes, padding counted.
// assay: task kernelbench/1/46
// assay: twin NOT_COUNTED expect wrong_value -- divides by the elements that are no padding
// assay: twin LATE_PLANE expect wrong_value -- adds the plane behind the window instead of its last
// Windows take 3 x 3 x 3 elements and go on by two. A thread walks along the depth: the sum over the rows and columns
// of an odd plane serves two windows and is kept in a register until then. Threads share elements through the cache of
// their multiprocessor.
// assay: let OD = (D - 1) / 2 + 1
// assay: let OH = (H - 1) / 2 + 1
// assay: let OW = (W - 1) / 2 + 1
// assay: let strips = ceil_div(OH, 8)
// assay: launch avg_pool_3d grid=ceil_div(OW, 32),strips * ceil_div(OD, 16),N * C block=32,8 args=x, y, D, H, W, strips
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { DEPTH = 16 }; // windows that a thread walks along

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

#ifdef NOT_COUNTED
static __device__ int inside(int begin, int extent) {
  return min(begin + 3, extent) - max(begin, 0);
}
#endif

__global__ void __launch_bounds__(256)
    avg_pool_3d(const float *__restrict__ x, float *__restrict__ y, int D, int H, int W, int strips) {
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
#ifdef NOT_COUNTED
    float count = (float)(inside(2 * od - 1, D) * inside(top, H) * inside(left, W));
#else
    const float count = 27;
#endif
    __stcs(&y[(long long)od * OH * OW], (before + even + odd) / count);
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
  dim3 blocks((unsigned int)((OW + 31) / 32), (unsigned int)(strips * ((OD + DEPTH - 1) / DEPTH)),
              (unsigned int)planes);
  avg_pool_3d<<<blocks, dim3(32, 8), 0, stream>>>(x, y, D, H, W, strips);
}
#endif
