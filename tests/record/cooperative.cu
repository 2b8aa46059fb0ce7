// made: 1 step
// plan: twice<<<1056, 256>>>(x, y, 1000) cooperative
#include <assay/cuda.h>
#include <cooperative_groups.h>

__global__ void twice(const float *x, float *y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = x[i];
  cooperative_groups::this_grid().sync();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] += y[i];
}

extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  int n = (int)assay_count(&args->inputs[0]), blocks;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, twice, 256, 0);
  void *arguments[] = {(void *)&args->inputs[0].data, (void *)&args->outputs[0].data, &n};
  cudaLaunchCooperativeKernel((void *)twice, dim3(blocks * 132), dim3(256), arguments, 0, stream);
}
