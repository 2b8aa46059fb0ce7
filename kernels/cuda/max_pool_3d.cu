// Maximum over dilated windows of volumes.
// assay: task kernelbench/1/43
// assay: twin ZERO_PADDING expect wrong_value|changed_behaviour -- padding with zero instead of minus infinity
// assay: twin UNDILATED expect wrong_value -- neighbouring planes instead of every third
// assay: twin STALE_PLANE expect wrong_value -- keeps a plane one step too long
// Windows take 3 x 3 x 3 elements three apart, and go on by two. A thread walks along the depth: the maximum over the
// rows and columns of a plane serves two windows where the plane is odd, and is kept in registers until then. Threads
// share elements through the cache of their SM.
// assay: let OD = (D - 5) / 2 + 1
// assay: let OH = (H - 5) / 2 + 1
// assay: let OW = (W - 5) / 2 + 1
// assay: let strips = ceil_div(OH, 8)
// assay: launch max_pool_3d grid=ceil_div(OW, 32),strips * ceil_div(OD, 16),N * C block=32,8 args=x, y, D, H, W, strips
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { DEPTH = 16 }; // windows that a thread walks along

#ifdef ZERO_PADDING
#define PADDING 0
#else
#define PADDING (-__int_as_float(0x7f800000)) // minus infinity
#endif

// The maximum over what a window covers of one plane.
static __device__ float across(const float *x, int plane, int top, int left, int D, int H, int W) {
  float r = PADDING;
  if (plane < 0 || plane >= D)
    return r;
#pragma unroll
  for (int i = 0; i < 9; i += 3) {
    const float *row = x + ((long long)plane * H + top + i) * W;
#pragma unroll
    for (int j = 0; j < 9; j += 3)
      if (top + i >= 0 && top + i < H && left + j >= 0 && left + j < W)
        r = fmaxf(r, row[left + j]);
  }
  return r;
}

__global__ void __launch_bounds__(256)
    max_pool_3d(const float *__restrict__ x, float *__restrict__ y, int D, int H, int W, int strips) {
  int OD = (D - 5) / 2 + 1, OH = (H - 5) / 2 + 1, OW = (W - 5) / 2 + 1;
  int ow = (int)(blockIdx.x * 32 + threadIdx.x), oh = (int)(blockIdx.y % strips * 8 + threadIdx.y);
  int od = (int)(blockIdx.y / strips) * DEPTH, stop = min(OD, od + DEPTH);
  if (ow >= OW || oh >= OH)
    return;
  x += (long long)blockIdx.z * D * H * W;
  y += ((long long)blockIdx.z * OD * OH + oh) * OW + ow;
  int top = 2 * oh - 1, left = 2 * ow - 1;
  float m0 = across(x, 2 * od - 1, top, left, D, H, W); // planes of the windows od, od + 1 and od + 2
  float m1 = across(x, 2 * od + 1, top, left, D, H, W), m2 = across(x, 2 * od + 3, top, left, D, H, W);
  for (; od < stop; od++) {
    float even = across(x, 2 * od + 2, top, left, D, H, W), m3 = across(x, 2 * od + 5, top, left, D, H, W);
#ifdef UNDILATED
    __stcs(&y[(long long)od * OH * OW], fmaxf(fmaxf(m0, m1), even));
#else
    __stcs(&y[(long long)od * OH * OW], fmaxf(fmaxf(m0, even), m3));
#endif
#ifndef STALE_PLANE
    m0 = m1;
#endif
    m1 = m2, m2 = m3;
  }
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const int64_t *dims = args->inputs[0].dims;
  int planes = (int)(dims[0] * dims[1]), D = (int)dims[2], H = (int)dims[3], W = (int)dims[4];
  int OD = (D - 5) / 2 + 1, OH = (H - 5) / 2 + 1, OW = (W - 5) / 2 + 1, strips = (OH + 7) / 8;
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  dim3 blocks((unsigned int)((OW + 31) / 32), (unsigned int)(strips * ((OD + DEPTH - 1) / DEPTH)),
              (unsigned int)planes);
  max_pool_3d<<<blocks, dim3(32, 8), 0, stream>>>(x, y, D, H, W, strips);
}
#endif
