// refused: there is no extern "C" void assay_cuda_kernel
#include <assay/cuda.h>

__global__ void add(const float *x, float *y, int n, float c) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    y[i] = x[i] + c;
}
