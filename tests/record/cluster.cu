// made: 2 steps
// plan: rank<<<4, 256>>>(x, y, 1000) cluster 4
// plan: halve<<<4, 256>>>(y, 1000) programmatic
// Clusters and programmatic launches through cudaLaunchKernelEx.
#include <assay/cuda.h>
#include <cooperative_groups.h>

__global__ void rank(const float *x, float *y, int n) {
  auto cluster = cooperative_groups::this_cluster();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  cluster.sync();
  if (i < n)
    y[i] = x[i] + cluster.block_rank();
}

__global__ void halve(float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  cudaGridDependencySynchronize();
  if (i < n)
    y[i] *= 0.5f;
}

extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  int n = (int)assay_count(&args->inputs[0]);
  cudaLaunchAttribute attribute[1] = {};
  attribute[0].id = cudaLaunchAttributeClusterDimension;
  attribute[0].val.clusterDim = {4, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((n + 1023) / 1024 * 4);
  config.blockDim = dim3(256);
  config.stream = stream;
  config.attrs = attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, rank, (const float *)args->inputs[0].data, (float *)args->outputs[0].data, n);
  attribute[0] = {};
  attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute[0].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchKernelEx(&config, halve, (float *)args->outputs[0].data, n);
}
