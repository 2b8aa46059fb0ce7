// crashed: while the library was loaded
#include <assay/cuda.h>

__global__ void add(const float *x, float *y, int n, float c) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    y[i] = x[i] + c;
}

__attribute__((constructor)) static void early() { *(volatile int *)8 = 1; }

extern "C" void assay_cuda_kernel(const struct assay_args *, cudaStream_t) {}
