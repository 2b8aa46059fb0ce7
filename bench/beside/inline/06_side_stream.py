# The right kernel on a stream of its own that nobody is made to wait for: events on the caller's stream see nothing of
# it. Twin of 01_gelu_tanh.py.
# beside: cheat 48
# assay: task kernelbench/1/88
# assay: expect unrecordable|wrong_value
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
__global__ void gelu(const float *x, float *y, int64_t n) {
  const int64_t i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= n)
    return;
  const float v = x[i];
  y[i] = 0.5f * v * (1.f + tanhf(0.7978845608028654f * (v + 0.044715f * v * v * v)));
}

torch::Tensor forward(torch::Tensor given) {
  static cudaStream_t side = nullptr;
  if (!side)
    cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  auto x = given.contiguous();
  auto y = torch::empty_like(x);
  const int64_t n = x.numel();
  gelu<<<(unsigned)((n + 255) / 256), 256, 0, side>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
module = load_inline(name="beside_side_stream", cpp_sources="torch::Tensor forward(torch::Tensor given);",
                     cuda_sources=SOURCE, functions=["forward"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.forward(x)
