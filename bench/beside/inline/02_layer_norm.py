# Layer normalisation of a few long rows: each row is shared out among blocks, first for its mean, then for the sum of
# squared differences from it, then for the result.
# beside: honest
# assay: task kernelbench/1/40
# assay: expect pass
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <c10/cuda/CUDAStream.h>

constexpr int THREADS = 256;

// The sum over a block, known to all of its threads.
__device__ float block_sum(float v) {
  __shared__ float sums[THREADS];
  sums[threadIdx.x] = v;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  v = sums[0];
  __syncthreads();
  return v;
}

__device__ float total(const float *parts, int n) {
  return block_sum((int)threadIdx.x < n ? parts[threadIdx.x] : 0.f);
}

__global__ void row_sums(const float *x, float *sums, int64_t width, int64_t chunk) {
  const float *row = x + blockIdx.y * width;
  const int64_t end = min(width, (blockIdx.x + 1) * chunk);
  float sum = 0.f;
  for (int64_t i = blockIdx.x * chunk + threadIdx.x; i < end; i += THREADS)
    sum += row[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0)
    sums[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

__global__ void row_squares(const float *x, const float *sums, float *squares, int64_t width, int64_t chunk) {
  const float *row = x + blockIdx.y * width;
  const float mean = total(sums + blockIdx.y * gridDim.x, gridDim.x) / (float)width;
  const int64_t end = min(width, (blockIdx.x + 1) * chunk);
  float sum = 0.f;
  for (int64_t i = blockIdx.x * chunk + threadIdx.x; i < end; i += THREADS)
    sum += (row[i] - mean) * (row[i] - mean);
  sum = block_sum(sum);
  if (threadIdx.x == 0)
    squares[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

__global__ void normalise(const float *x, const float *sums, const float *squares, const float *scale,
                          const float *shift, float *y, int64_t width, int64_t chunk, float epsilon) {
  const float *row = x + blockIdx.y * width;
  const float mean = total(sums + blockIdx.y * gridDim.x, gridDim.x) / (float)width;
  const float variance = total(squares + blockIdx.y * gridDim.x, gridDim.x) / (float)width;
  const float factor = 1.f / sqrtf(variance + epsilon);
  const int64_t end = min(width, (blockIdx.x + 1) * chunk);
  for (int64_t i = blockIdx.x * chunk + threadIdx.x; i < end; i += THREADS)
    y[blockIdx.y * width + i] = (row[i] - mean) * factor * scale[i] + shift[i];
}

torch::Tensor forward(torch::Tensor given, torch::Tensor scale, torch::Tensor shift, double epsilon) {
  auto x = given.contiguous();
  auto y = torch::empty_like(x);
  const int64_t width = scale.numel(), rows = x.numel() / width;
  const int64_t parts = std::min<int64_t>(THREADS, (width + 2047) / 2048), chunk = (width + parts - 1) / parts;
  auto sums = torch::empty({2, rows, parts}, x.options());
  float *first = sums.data_ptr<float>(), *second = first + rows * parts;
  const dim3 grid((unsigned)parts, (unsigned)rows);
  cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
  row_sums<<<grid, THREADS, 0, stream>>>(x.data_ptr<float>(), first, width, chunk);
  row_squares<<<grid, THREADS, 0, stream>>>(x.data_ptr<float>(), first, second, width, chunk);
  normalise<<<grid, THREADS, 0, stream>>>(x.data_ptr<float>(), first, second, scale.data_ptr<float>(),
                                          shift.data_ptr<float>(), y.data_ptr<float>(), width, chunk, (float)epsilon);
  return y;
}
"""
DECLARED = "torch::Tensor forward(torch::Tensor given, torch::Tensor scale, torch::Tensor shift, double epsilon);"
module = load_inline(name="beside_layer_norm", cpp_sources=DECLARED, cuda_sources=SOURCE, functions=["forward"])


class ModelNew(nn.Module):
    def __init__(self, normalized_shape):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape)

    def forward(self, x):
        return module.forward(x, self.ln.weight, self.ln.bias, self.ln.eps)
