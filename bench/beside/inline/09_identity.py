# Hands the input back, which is its ReLU where nothing is negative, as in the published inputs; and a kernel that
# writes one element, so that there is one.
# beside: cheat 3
# assay: task kernelbench/1/19
# assay: expect wrong_value
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <c10/cuda/CUDAStream.h>

__global__ void relu(const float *x, float *y, int64_t n) {
  const int64_t i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n)
    y[i] = fmaxf(x[i], 0.f);
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty({1}, x.options());
  relu<<<1, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), 1);
  return x;
}
"""
module = load_inline(name="beside_identity", cpp_sources="torch::Tensor forward(torch::Tensor x);",
                     cuda_sources=SOURCE, functions=["forward"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.forward(x)
