// Division by the root mean square over the channels of an image.
// assay: task kernelbench/1/36
// assay: twin SUM expect wrong_value -- the sum of squares instead of their mean
// assay: twin NO_BARRIER expect wrong_value|wrong_class|changed_behaviour -- reads sums before they are written
// assay: twin NO_EPSILON expect wrong_value|wrong_class -- epsilon forgotten
// A block has 128 positions of one image, four per thread, and eight warps share out the channels. What it reads stays
// in registers, up to 64 channels, until the squares are added in shared memory; channels after them are read again.
// assay: let plane = H * W
// assay: let wide = plane % 4 == 0
// assay: launch rms_norm<4> grid=ceil_div(plane, 128),N block=256 if=wide args=x, y, C, plane
// assay: launch rms_norm<1> grid=ceil_div(plane, 32),N block=256 if=!wide args=x, y, C, plane
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { WARPS = 8, KEPT = 8 };

// V elements that lie at x.
template <int V> static __device__ void load(float (&v)[V], const float *x) {
  if constexpr (V == 4) {
    float4 f = __ldcs((const float4 *)x);
    v[0] = f.x, v[1] = f.y, v[2] = f.z, v[3] = f.w;
  } else {
    v[0] = __ldcs(x);
  }
}

template <int V> static __device__ void store(float *y, const float (&v)[V]) {
  if constexpr (V == 4)
    __stcs((float4 *)y, make_float4(v[0], v[1], v[2], v[3]));
  else
    __stcs(y, v[0]);
}

template <int V>
__global__ void __launch_bounds__(WARPS * 32)
    rms_norm(const float *__restrict__ x, float *__restrict__ y, int C, int plane) {
  __shared__ float squares[WARPS][32 * V];
  int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, at = (int)(blockIdx.x * 32 + lane) * V;
  const long long image = (long long)blockIdx.y * C * plane + at;
  bool inside = at < plane;
  float v[KEPT][V], sum[V] = {};
#pragma unroll
  for (int k = 0; k < KEPT; k++) {
#pragma unroll
    for (int j = 0; j < V; j++)
      v[k][j] = 0;
    if (inside && warp + k * WARPS < C)
      load<V>(v[k], x + image + (long long)(warp + k * WARPS) * plane);
  }
#pragma unroll
  for (int k = 0; k < KEPT; k++)
#pragma unroll
    for (int j = 0; j < V; j++)
      sum[j] += v[k][j] * v[k][j];
  for (int c = warp + KEPT * WARPS; inside && c < C; c += WARPS) {
    float more[V];
    load<V>(more, x + image + (long long)c * plane);
#pragma unroll
    for (int j = 0; j < V; j++)
      sum[j] += more[j] * more[j];
  }
#pragma unroll
  for (int j = 0; j < V; j++)
    squares[warp][j * 32 + lane] = sum[j];
#ifndef NO_BARRIER
  __syncthreads();
#endif
  if (!inside)
    return;
#ifdef SUM
  float count = 1;
#else
  float count = (float)C;
#endif
#ifdef NO_EPSILON
  const float epsilon = 0;
#else
  const float epsilon = 1e-5f;
#endif
  float factor[V];
#pragma unroll
  for (int j = 0; j < V; j++) {
    float total = 0;
#pragma unroll
    for (int w = 0; w < WARPS; w++)
      total += squares[w][j * 32 + lane];
    factor[j] = 1 / sqrtf(total / count + epsilon);
  }
#pragma unroll
  for (int k = 0; k < KEPT; k++) {
#pragma unroll
    for (int j = 0; j < V; j++)
      v[k][j] *= factor[j];
    if (warp + k * WARPS < C)
      store<V>(y + image + (long long)(warp + k * WARPS) * plane, v[k]);
  }
  for (int c = warp + KEPT * WARPS; c < C; c += WARPS) {
    float more[V];
    load<V>(more, x + image + (long long)c * plane);
#pragma unroll
    for (int j = 0; j < V; j++)
      more[j] *= factor[j];
    store<V>(y + image + (long long)c * plane, more);
  }
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const int64_t *dims = args->inputs[0].dims;
  int C = (int)dims[1], plane = (int)(dims[2] * dims[3]);
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  if (plane % 4 == 0)
    rms_norm<4><<<dim3((unsigned int)((plane + 127) / 128), (unsigned int)dims[0]), 256, 0, stream>>>(x, y, C, plane);
  else
    rms_norm<1><<<dim3((unsigned int)((plane + 31) / 32), (unsigned int)dims[0]), 256, 0, stream>>>(x, y, C, plane);
}
#endif
