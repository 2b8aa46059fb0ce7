# SPDX-License-Identifier: Apache-2.0
# load_inline, moments of parts merged by a second kernel.
# assay: task kernelbench/1/40
# assay: expect pass
import torch, torch.nn as nn
from torch.utils.cpp_extension import load_inline
src = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#define PARTS 64
__device__ void combine(float& n, float& mean, float& m2, float n2, float mean2, float m22) {
  float t = n + n2; if (t == 0.f) return; float d = mean2 - mean; mean += d * (n2 / t); m2 += m22 + d * d * (n * n2 / t); n = t; }
__global__ void stats(const float* x, float* part, size_t n) {
  const float* row = x + blockIdx.y * n; float c = 0, mean = 0, m2 = 0;
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)PARTS * blockDim.x) { float v = row[i]; c += 1.f; float d = v - mean; mean += d / c; m2 += d * (v - mean); }
  for (int o = 16; o; o >>= 1) combine(c, mean, m2, __shfl_down_sync(~0u, c, o), __shfl_down_sync(~0u, mean, o), __shfl_down_sync(~0u, m2, o));
  __shared__ float sc[32], sm[32], s2[32]; int w = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) { sc[w] = c; sm[w] = mean; s2[w] = m2; } __syncthreads();
  if (threadIdx.x == 0) { for (int i = 1; i < blockDim.x / 32; i++) combine(c, mean, m2, sc[i], sm[i], s2[i]);
    float* p = part + (blockIdx.y * PARTS + blockIdx.x) * 3; p[0] = c; p[1] = mean; p[2] = m2; } }
__global__ void apply(const float* x, const float* g, const float* b, const float* part, float* y, size_t n, float eps) {
  __shared__ float mu, rs;
  if (threadIdx.x == 0) { float c = 0, mean = 0, m2 = 0; const float* p = part + blockIdx.y * PARTS * 3;
    for (int i = 0; i < PARTS; i++) combine(c, mean, m2, p[3*i], p[3*i+1], p[3*i+2]); mu = mean; rs = rsqrtf(m2 / n + eps); }
  __syncthreads();
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) y[blockIdx.y * n + i] = (x[blockIdx.y * n + i] - mu) * rs * g[i] + b[i]; }
torch::Tensor ln(torch::Tensor x, torch::Tensor g, torch::Tensor b, double eps) {
  size_t n = g.numel(); int rows = x.numel() / n; auto y = torch::empty_like(x); auto part = torch::empty({rows, PARTS, 3}, x.options());
  auto s = at::cuda::getCurrentCUDAStream();
  stats<<<dim3(PARTS, rows), 256, 0, s>>>(x.data_ptr<float>(), part.data_ptr<float>(), n);
  apply<<<dim3((n + 255) / 256, rows), 256, 0, s>>>(x.data_ptr<float>(), g.data_ptr<float>(), b.data_ptr<float>(), part.data_ptr<float>(), y.data_ptr<float>(), n, eps);
  return y; }
"""
ext = load_inline(name="ln_two", cpp_sources="torch::Tensor ln(torch::Tensor x, torch::Tensor g, torch::Tensor b, double eps);", cuda_sources=src, functions=["ln"], extra_cuda_cflags=["-O3"])
class ModelNew(nn.Module):
    def __init__(self, normalized_shape):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape)
    def forward(self, x):
        return ext.ln(x.contiguous(), self.ln.weight, self.ln.bias, self.ln.eps)
