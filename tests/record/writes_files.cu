// made: 1 step
// plan: add<<<4, 256>>>(x, y, 1000, 1f)
// Host code cannot write files; it gets an error and goes on.
#include <assay/cuda.h>
#include <stdio.h>

__global__ void add(const float *x, float *y, int n, float c) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    y[i] = x[i] + c;
}

extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  int n = (int)assay_count(&args->inputs[0]);
  FILE *f = fopen("/tmp/assay-was-here", "w");
  printf(f ? "written\n" : "not written\n");
  add<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n, 1);
}
