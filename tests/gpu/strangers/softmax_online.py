# SPDX-License-Identifier: Apache-2.0
# load_inline, one pass for maximum and sum.
# assay: task kernelbench/1/23
# assay: expect pass
import torch, torch.nn as nn
from torch.utils.cpp_extension import load_inline
src = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <math_constants.h>
struct MS { float m, s; };
__device__ __forceinline__ MS merge(MS a, MS b) {
  MS r; r.m = fmaxf(a.m, b.m);
  if (r.m == -CUDART_INF_F) { r.s = 0.f; return r; }
  r.s = a.s * __expf(a.m - r.m) + b.s * __expf(b.m - r.m); return r; }
template <int T> __global__ void softmax_k(const float* __restrict__ x, float* __restrict__ y, int n) {
  const float* row = x + (size_t)blockIdx.x * n; float* out = y + (size_t)blockIdx.x * n;
  MS v{-CUDART_INF_F, 0.f};
  for (int i = threadIdx.x; i < n; i += T) v = merge(v, MS{row[i], 1.f});
  for (int o = 16; o; o >>= 1) { MS w{__shfl_xor_sync(~0u, v.m, o), __shfl_xor_sync(~0u, v.s, o)}; v = merge(v, w); }
  __shared__ MS part[T / 32];
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  v = part[0];
  for (int i = 1; i < T / 32; i++) v = merge(v, part[i]);
  float inv = 1.f / v.s;
  for (int i = threadIdx.x; i < n; i += T) out[i] = __expf(row[i] - v.m) * inv;
}
torch::Tensor softmax_f(torch::Tensor x) {
  auto y = torch::empty_like(x);
  softmax_k<512><<<x.size(0), 512, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""
ext = load_inline("online_sm", "torch::Tensor softmax_f(torch::Tensor x);", src, functions=["softmax_f"])
class ModelNew(nn.Module):
    def forward(self, x):
        return ext.softmax_f(x)
