# SPDX-License-Identifier: Apache-2.0
# A kernel by PyTorch's own NVRTC.
# assay: task kernelbench/2/86
# assay: expect pass
import torch, torch.nn as nn
K = torch.cuda._compile_kernel(r"""
extern "C" __global__ void div_gelu(const float* x, float* y, long n, float d) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) { float v = x[i] / d; y[i] = 0.5f * v * (1.f + erff(v * 0.70710678f)); } }
""", "div_gelu")
class ModelNew(nn.Module):
    def __init__(self, input_size, output_size, divisor):
        super().__init__()
        self.linear = nn.Linear(input_size, output_size)
        self.divisor = divisor
    def forward(self, x):
        h = self.linear(x)
        y = torch.empty_like(h)
        n = h.numel()
        K(grid=((n + 255) // 256, 1, 1), block=(256, 1, 1), args=(h, y, n, float(self.divisor)))
        return y
