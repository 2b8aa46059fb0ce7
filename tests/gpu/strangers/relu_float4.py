# SPDX-License-Identifier: Apache-2.0
# load_inline, vectorised, with --use_fast_math, which takes subnormal numbers for zero.
# assay: task kernelbench/1/19
# assay: expect wrong_value
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAStream.h>

__global__ void relu4(const float4* __restrict__ x, float4* __restrict__ y, size_t n4, const float* xs, float* ys, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t k = i; k < n4; k += stride) {
        float4 v = x[k];
        v.x = fmaxf(v.x, 0.f); v.y = fmaxf(v.y, 0.f); v.z = fmaxf(v.z, 0.f); v.w = fmaxf(v.w, 0.f);
        y[k] = v;
    }
    for (size_t k = n4 * 4 + i; k < n; k += stride) ys[k] = fmaxf(xs[k], 0.f);
}

torch::Tensor relu_cuda(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    auto xc = x.contiguous();
    auto y = torch::empty_like(xc);
    size_t n = xc.numel();
    if (n == 0) return y;
    int threads = 256;
    int blocks = (int)std::min<size_t>((n / 4 + threads - 1) / threads + 1, 65535);
    relu4<<<blocks, threads, 0, c10::cuda::getCurrentCUDAStream()>>>(
        reinterpret_cast<const float4*>(xc.data_ptr<float>()), reinterpret_cast<float4*>(y.data_ptr<float>()), n / 4,
        xc.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
cpp_source = "torch::Tensor relu_cuda(torch::Tensor x);"
mod = load_inline(name="relu4_ext", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["relu_cuda"], verbose=False, extra_cuda_cflags=["-O3", "--use_fast_math"])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.op = mod

    def forward(self, x):
        return self.op.relu_cuda(x)
