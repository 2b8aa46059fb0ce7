# GELU in its tanh form, four elements a thread where addresses allow it, and a tail.
# beside: honest
# assay: task kernelbench/1/88
# assay: expect pass
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <c10/cuda/CUDAStream.h>

__device__ float gelu(float v) {
  const float u = 0.7978845608028654f * (v + 0.044715f * v * v * v);
  return 0.5f * v * (1.f + tanhf(u));
}

__global__ void gelu_fours(const float4 *x, float4 *y, int64_t n) {
  const int64_t i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= n)
    return;
  const float4 v = x[i];
  y[i] = make_float4(gelu(v.x), gelu(v.y), gelu(v.z), gelu(v.w));
}

__global__ void gelu_ones(const float *x, float *y, int64_t from, int64_t n) {
  const int64_t i = from + blockIdx.x * 256ll + threadIdx.x;
  if (i < n)
    y[i] = gelu(x[i]);
}

torch::Tensor forward(torch::Tensor given) {
  auto x = given.contiguous();
  auto y = torch::empty_like(x);
  const float *from = x.data_ptr<float>();
  float *to = y.data_ptr<float>();
  const int64_t n = x.numel();
  const bool aligned = ((uintptr_t)from | (uintptr_t)to) % 16 == 0;
  const int64_t fours = aligned ? n / 4 : 0, rest = n - 4 * fours;
  cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
  if (fours > 0)
    gelu_fours<<<(unsigned)((fours + 255) / 256), 256, 0, stream>>>((const float4 *)from, (float4 *)to, fours);
  if (rest > 0)
    gelu_ones<<<(unsigned)((rest + 255) / 256), 256, 0, stream>>>(from, to, 4 * fours, n);
  return y;
}
"""
module = load_inline(name="beside_gelu_tanh", cpp_sources="torch::Tensor forward(torch::Tensor given);",
                     cuda_sources=SOURCE, functions=["forward"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.forward(x)
