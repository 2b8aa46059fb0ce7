# A linear layer, bias and ReLU in one kernel, in single precision: 128 x 128 of the result a block, 8 x 8 a thread.
# beside: honest
# assay: task kernelbench/2/76
# assay: expect pass
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <c10/cuda/CUDAStream.h>

constexpr int TILE = 128, DEPTH = 8, EACH = 8; // 16 x 16 threads

// TILE rows of a matrix of `rows` x `k`, DEPTH columns of it, turned around; zeros beyond its ends.
__device__ void load(float (*tile)[TILE], const float *from, int64_t row, int64_t rows, int64_t at, int64_t k) {
  for (int i = threadIdx.x; i < TILE * DEPTH; i += 256) {
    const int64_t r = row + i / DEPTH, c = at + i % DEPTH;
    tile[i % DEPTH][i / DEPTH] = r < rows && c < k ? from[r * k + c] : 0.f;
  }
}

__global__ void __launch_bounds__(256) linear_bias_relu(const float *x, const float *w, const float *bias, float *y,
                                                        int64_t m, int64_t n, int64_t k) {
  __shared__ float left[DEPTH][TILE], right[DEPTH][TILE];
  const int64_t row = blockIdx.y * (int64_t)TILE, column = blockIdx.x * (int64_t)TILE;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  float sums[EACH][EACH] = {};
  for (int64_t at = 0; at < k; at += DEPTH) {
    load(left, x, row, m, at, k);
    load(right, w, column, n, at, k);
    __syncthreads();
    for (int d = 0; d < DEPTH; d++) {
      float a[EACH], b[EACH];
      for (int i = 0; i < EACH; i++) {
        a[i] = left[d][ty + 16 * i];
        b[i] = right[d][tx + 16 * i];
      }
      for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++)
          sums[i][j] += a[i] * b[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < EACH; i++)
    for (int j = 0; j < EACH; j++) {
      const int64_t r = row + ty + 16 * i, c = column + tx + 16 * j;
      if (r < m && c < n) {
        const float v = sums[i][j] + bias[c];
        y[r * n + c] = v < 0.f ? 0.f : v;
      }
    }
}

torch::Tensor forward(torch::Tensor given, torch::Tensor w, torch::Tensor bias) {
  auto x = given.contiguous();
  const int64_t m = x.size(0), k = x.size(1), n = w.size(0);
  auto y = torch::empty({m, n}, x.options());
  const dim3 grid((unsigned)((n + TILE - 1) / TILE), (unsigned)((m + TILE - 1) / TILE));
  linear_bias_relu<<<grid, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
      x.data_ptr<float>(), w.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), m, n, k);
  return y;
}
"""
module = load_inline(name="beside_linear_bias_relu",
                     cpp_sources="torch::Tensor forward(torch::Tensor given, torch::Tensor w, torch::Tensor bias);",
                     cuda_sources=SOURCE, functions=["forward"])


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, bias_shape):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features, bias=False)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        return module.forward(x, self.gemm.weight, self.bias)
