// refused: kernel argument 0 is a host pointer
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
  float local[4] = {1, 2, 3, 4};
  add<<<1, 4, 0, stream>>>(local, y, 4, x ? 1 : n);
}
