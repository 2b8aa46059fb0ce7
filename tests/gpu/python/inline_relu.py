# CUDA C++ that PyTorch compiles when the module is imported.
# assay: task kernelbench/1/19
# assay: expect pass
# assay: twin SYMBOL expect pass -- memory that the extension takes itself, with cudaMalloc
import torch
from torch.utils.cpp_extension import load_inline

names = globals()
SOURCE = """
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
__global__ void relu(const float *x, float *y, long long n, const float *zero) {
  long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], zero ? *zero : 0.f);
}
torch::Tensor forward(torch::Tensor x, bool own) {
  static float *zero = nullptr;
  if (own && !zero) {
    cudaMalloc(&zero, sizeof(float));
    cudaMemset(zero, 0, sizeof(float));
  }
  auto y = torch::empty_like(x);
  long long n = x.numel();
  relu<<<(unsigned)((n + 255) / 256), 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(),
                                                                                   y.data_ptr<float>(), n, zero);
  return y;
}
"""
module = load_inline(name="assay_inline_relu", cpp_sources="torch::Tensor forward(torch::Tensor x, bool own);",
                     cuda_sources=SOURCE, functions=["forward"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.forward(x, "SYMBOL" in names)
