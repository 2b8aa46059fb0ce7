# SPDX-License-Identifier: Apache-2.0
# load_inline with CUB.
# assay: task kernelbench/1/89
# assay: expect pass
import torch, torch.nn as nn
from torch.utils.cpp_extension import load_inline
src = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_store.cuh>
template <int T, int I> __global__ void scan(const float* x, float* y, int n) {
  using Load = cub::BlockLoad<float, T, I, cub::BLOCK_LOAD_WARP_TRANSPOSE>; using Store = cub::BlockStore<float, T, I, cub::BLOCK_STORE_WARP_TRANSPOSE>; using Scan = cub::BlockScan<float, T>;
  __shared__ union { typename Load::TempStorage l; typename Store::TempStorage s; typename Scan::TempStorage c; } tmp;
  const float* r = x + (size_t)blockIdx.x * n; float* o = y + (size_t)blockIdx.x * n; float run = 0.f;
  for (int base = 0; base < n; base += T * I) { float v[I]; int left = min(T * I, n - base);
    Load(tmp.l).Load(r + base, v, left, 0.f); __syncthreads(); float total; Scan(tmp.c).InclusiveSum(v, v, total); __syncthreads();
    for (int k = 0; k < I; k++) v[k] += run; run += total; Store(tmp.s).Store(o + base, v, left); __syncthreads(); } }
torch::Tensor cs(torch::Tensor x) { auto y = torch::empty_like(x); scan<256, 8><<<x.size(0), 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1)); return y; }
"""
ext = load_inline(name="cub_cumsum", cpp_sources="torch::Tensor cs(torch::Tensor x);", cuda_sources=src, functions=["cs"], verbose=True)
class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
    def forward(self, x):
        return ext.cs(x.contiguous())
