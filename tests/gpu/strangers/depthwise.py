# SPDX-License-Identifier: Apache-2.0
# load_inline with an optional tensor.
# assay: task kernelbench/1/82
# assay: expect pass
import torch, torch.nn as nn
from torch.utils.cpp_extension import load_inline
src = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
__global__ void dw(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ bias, float* __restrict__ y, int C, int H, int W, int OH, int OW, int K, int st, int pad) {
  int ow = blockIdx.x * blockDim.x + threadIdx.x, oh = blockIdx.y * blockDim.y + threadIdx.y; int nc = blockIdx.z;
  if (ow >= OW || oh >= OH) return; int c = nc % C; const float* xp = x + (size_t)nc * H * W; float acc = bias ? bias[c] : 0.f;
  for (int i = 0; i < K; i++) { int h = oh * st - pad + i; if (h < 0 || h >= H) continue; for (int j = 0; j < K; j++) { int q = ow * st - pad + j; if (q < 0 || q >= W) continue; acc += xp[h * W + q] * w[(c * K + i) * K + j]; } }
  y[((size_t)nc * OH + oh) * OW + ow] = acc; }
torch::Tensor conv(torch::Tensor x, torch::Tensor w, c10::optional<torch::Tensor> b, int64_t st, int64_t pad) {
  int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), K = w.size(2); int OH = (H + 2 * pad - K) / st + 1, OW = (W + 2 * pad - K) / st + 1;
  auto y = torch::empty({N, C, OH, OW}, x.options()); dim3 t(32, 8), g((OW + 31) / 32, (OH + 7) / 8, N * C);
  dw<<<g, t, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), w.data_ptr<float>(), b ? b->data_ptr<float>() : nullptr, y.data_ptr<float>(), C, H, W, OH, OW, K, st, pad); return y; }
"""
ext = load_inline(name="dwconv_x", cpp_sources="torch::Tensor conv(torch::Tensor x, torch::Tensor w, c10::optional<torch::Tensor> b, int64_t st, int64_t pad);", cuda_sources=src, functions=["conv"])
class ModelNew(nn.Module):
    def __init__(self, in_channels, kernel_size, stride=1, padding=0, bias=False):
        super().__init__()
        self.conv2d = nn.Conv2d(in_channels, in_channels, kernel_size, stride=stride, padding=padding, groups=in_channels, bias=bias)
        self.stride, self.padding = stride, padding
    def forward(self, x):
        return ext.conv(x.contiguous(), self.conv2d.weight.contiguous(), self.conv2d.bias, self.stride, self.padding)
