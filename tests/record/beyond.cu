// refused: kernel argument 1 points to y
#include <assay/cuda.h>

__global__ void add(const float *x, float *y, int n, float c) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    y[i] = x[i] + c;
}

extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  int n = (int)assay_count(&args->inputs[0]);
  add<<<1, 256, 0, stream>>>(x, y + n + 1, n, 1);
}
