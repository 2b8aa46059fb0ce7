// made: 5 steps
// plan: set_symbol(factors of module 0, constant 0, 16 bytes)
// plan: copy(scratch 0, constant 1, 16 bytes)
// plan: fill(scratch 1, 0x00, 4000 bytes)
// plan: scale<<<4, 256>>>(x, scratch 0, scratch 1, 1000)
// plan: copy(y, scratch 1, 4000 bytes)
// Allocations of both kinds, memsets, copies within the device and a table from the host.
#include <assay/cuda.h>

__constant__ float factors[4];

__global__ void scale(const float *x, const float *table, float *y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    y[i] += x[i] * table[i & 3] * factors[i & 3];
}

extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const float table[4] = {1, 2, 3, 4};
  size_t bytes = assay_count(&args->inputs[0]) * sizeof(float);
  int n = (int)assay_count(&args->inputs[0]);
  float *device_table, *sum;
  cudaMalloc(&device_table, sizeof table);
  cudaMallocAsync(&sum, bytes, stream);
  cudaMemcpyToSymbolAsync(factors, table, sizeof table, 0, cudaMemcpyHostToDevice, stream);
  cudaMemcpyAsync(device_table, table, sizeof table, cudaMemcpyHostToDevice, stream);
  cudaMemsetAsync(sum, 0, bytes, stream);
  scale<<<(n + 255) / 256, 256, 0, stream>>>((const float *)args->inputs[0].data, device_table, sum, n);
  cudaMemcpyAsync(args->outputs[0].data, sum, bytes, cudaMemcpyDeviceToDevice, stream);
  cudaFreeAsync(sum, stream);
  cudaFree(device_table);
}
