# Running sums along rows, a block a row: 1024 elements at a time, and what came before is carried on. Nothing is
# subtracted, so that an infinity spoils only what comes after it.
# beside: honest
# assay: task kernelbench/1/89
# assay: expect pass
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <c10/cuda/CUDAStream.h>

constexpr int THREADS = 256, EACH = 4;

__global__ void __launch_bounds__(THREADS) cumsum_rows(const float *x, float *y, int64_t width) {
  __shared__ float sums[2][THREADS];
  const float *from = x + blockIdx.x * width;
  float *to = y + blockIdx.x * width;
  float carry = 0.f;
  for (int64_t start = 0; start < width; start += THREADS * EACH) {
    const int64_t at = start + threadIdx.x * EACH;
    float v[EACH];
    for (int i = 0; i < EACH; i++) {
      v[i] = at + i < width ? from[at + i] : 0.f;
      v[i] = i ? v[i - 1] + v[i] : v[i];
    }
    int now = 0;
    sums[now][threadIdx.x] = v[EACH - 1];
    __syncthreads();
    for (int step = 1; step < THREADS; step *= 2, now ^= 1) {
      const float own = sums[now][threadIdx.x];
      sums[now ^ 1][threadIdx.x] = (int)threadIdx.x >= step ? sums[now][threadIdx.x - step] + own : own;
      __syncthreads();
    }
    const float before = threadIdx.x ? carry + sums[now][threadIdx.x - 1] : carry;
    for (int i = 0; i < EACH && at + i < width; i++)
      to[at + i] = before + v[i];
    carry += sums[now][THREADS - 1];
    __syncthreads();
  }
}

torch::Tensor forward(torch::Tensor given) {
  auto x = given.contiguous();
  auto y = torch::empty_like(x);
  cumsum_rows<<<(unsigned)x.size(0), THREADS, 0, c10::cuda::getCurrentCUDAStream()>>>(
      x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  return y;
}
"""
module = load_inline(name="beside_cumsum", cpp_sources="torch::Tensor forward(torch::Tensor given);",
                     cuda_sources=SOURCE, functions=["forward"])


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        if dim != 1:
            raise ValueError("this kernel sums along rows")

    def forward(self, x):
        return module.forward(x)
