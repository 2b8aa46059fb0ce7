# SPDX-License-Identifier: Apache-2.0
# A kernel by CuPy on PyTorch's stream.
# assay: task kernelbench/2/86
# assay: expect pass
import cupy as cp, torch, torch.nn as nn
K = cp.RawKernel(r'''
extern "C" __global__ void div_gelu(const float* x, float* y, long long n, float d) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) { float v = x[i] / d; y[i] = 0.5f * v * (1.f + erff(v * 0.70710678f)); } }
''', "div_gelu")
class ModelNew(nn.Module):
    def __init__(self, input_size, output_size, divisor):
        super().__init__()
        self.linear = nn.Linear(input_size, output_size)
        self.divisor = divisor
    def forward(self, x):
        h = self.linear(x)
        y = torch.empty_like(h)
        n = h.numel()
        with cp.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            K(((n + 255) // 256,), (256,), (h.data_ptr(), y.data_ptr(), n, cp.float32(self.divisor)))
        return y
