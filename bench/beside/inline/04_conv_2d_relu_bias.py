# A 3 x 3 convolution, ReLU and bias in one kernel, in single precision: 16 x 16 pixels a block, 16 channels a thread.
# (KernelBench compares with a reference that may use tf32, to 1e-4.)
# beside: honest
# assay: task kernelbench/2/1
# assay: expect pass
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <c10/cuda/CUDAStream.h>

constexpr int SIDE = 16, CHANNELS = 16, HALO = SIDE + 2;

__global__ void __launch_bounds__(256) conv_relu_bias(const float *x, const float *w, const float *inner,
                                                      const float *outer, float *y, int ci, int co, int h, int width) {
  __shared__ float pixels[HALO][HALO], weights[9][CHANNELS];
  const int groups = (co + CHANNELS - 1) / CHANNELS, oh = h - 2, ow = width - 2;
  const int image = blockIdx.z / groups, first = blockIdx.z % groups * CHANNELS;
  const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
  const int column = blockIdx.x * SIDE, row = blockIdx.y * SIDE;
  float sums[CHANNELS] = {};
  for (int c = 0; c < ci; c++) {
    const float *plane = x + ((int64_t)image * ci + c) * h * width;
    for (int i = threadIdx.x; i < HALO * HALO; i += 256) {
      const int r = row + i / HALO, q = column + i % HALO;
      pixels[i / HALO][i % HALO] = r < h && q < width ? plane[(int64_t)r * width + q] : 0.f;
    }
    if (threadIdx.x < 9 * CHANNELS) {
      const int o = first + threadIdx.x / 9, t = threadIdx.x % 9;
      weights[t][threadIdx.x / 9] = o < co ? w[((int64_t)o * ci + c) * 9 + t] : 0.f;
    }
    __syncthreads();
    for (int t = 0; t < 9; t++) {
      const float v = pixels[ty + t / 3][tx + t % 3];
      for (int o = 0; o < CHANNELS; o++)
        sums[o] += v * weights[t][o];
    }
    __syncthreads();
  }
  if (row + ty >= oh || column + tx >= ow)
    return;
  for (int o = 0; o < CHANNELS && first + o < co; o++) {
    const float v = sums[o] + inner[first + o];
    y[(((int64_t)image * co + first + o) * oh + row + ty) * ow + column + tx] = (v < 0.f ? 0.f : v) + outer[first + o];
  }
}

torch::Tensor forward(torch::Tensor given, torch::Tensor w, torch::Tensor inner, torch::Tensor outer) {
  auto x = given.contiguous();
  const int64_t n = x.size(0), ci = x.size(1), h = x.size(2), width = x.size(3), co = w.size(0);
  auto y = torch::empty({n, co, h - 2, width - 2}, x.options());
  const dim3 grid((unsigned)((width - 2 + SIDE - 1) / SIDE), (unsigned)((h - 2 + SIDE - 1) / SIDE),
                  (unsigned)(n * ((co + CHANNELS - 1) / CHANNELS)));
  conv_relu_bias<<<grid, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
      x.data_ptr<float>(), w.data_ptr<float>(), inner.data_ptr<float>(), outer.data_ptr<float>(), y.data_ptr<float>(),
      (int)ci, (int)co, (int)h, (int)width);
  return y;
}
"""
DECLARED = "torch::Tensor forward(torch::Tensor given, torch::Tensor w, torch::Tensor inner, torch::Tensor outer);"
module = load_inline(name="beside_conv_2d_relu_bias", cpp_sources=DECLARED, cuda_sources=SOURCE, functions=["forward"])


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, bias_shape):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        return module.forward(x, self.conv.weight, self.conv.bias, self.bias)
