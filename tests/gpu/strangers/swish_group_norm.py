# SPDX-License-Identifier: Apache-2.0
# load_inline for what follows a linear layer of PyTorch.
# assay: task kernelbench/2/37
# assay: expect pass
import torch, torch.nn as nn
from torch.utils.cpp_extension import load_inline
src = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
__global__ void sgn(const float* __restrict__ h, const float* __restrict__ bias, const float* __restrict__ g, const float* __restrict__ be, float* __restrict__ y, int C, int G, float eps) {
  int row = blockIdx.x / G, grp = blockIdx.x % G, n = C / G; const float* p = h + (size_t)row * C + grp * n; extern __shared__ float v[];
  float s = 0.f;
  for (int i = threadIdx.x; i < n; i += 32) { float t = p[i]; t = t / (1.f + __expf(-t)) + bias[grp * n + i]; v[i] = t; s += t; }
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o); float mean = s / n, q = 0.f;
  for (int i = threadIdx.x; i < n; i += 32) { float d = v[i] - mean; q += d * d; }
  for (int o = 16; o; o >>= 1) q += __shfl_xor_sync(~0u, q, o); float r = rsqrtf(q / n + eps);
  for (int i = threadIdx.x; i < n; i += 32) { int c = grp * n + i; y[(size_t)row * C + c] = (v[i] - mean) * r * g[c] + be[c]; } }
torch::Tensor run(torch::Tensor h, torch::Tensor bias, torch::Tensor g, torch::Tensor be, int64_t G, double eps) {
  auto y = torch::empty_like(h); int C = h.size(1); sgn<<<h.size(0) * G, 32, C / G * 4, at::cuda::getCurrentCUDAStream()>>>(h.data_ptr<float>(), bias.data_ptr<float>(), g.data_ptr<float>(), be.data_ptr<float>(), y.data_ptr<float>(), C, G, eps); return y; }
"""
ext = load_inline(name="swish_gn", cpp_sources="torch::Tensor run(torch::Tensor h, torch::Tensor bias, torch::Tensor g, torch::Tensor be, int64_t G, double eps);", cuda_sources=src, functions=["run"], extra_cuda_cflags=["-O3"])
class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, num_groups, bias_shape):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.group_norm = nn.GroupNorm(num_groups, out_features)
    def forward(self, x):
        return ext.run(self.matmul(x), self.bias, self.group_norm.weight, self.group_norm.bias, self.group_norm.num_groups, self.group_norm.eps)
