// refused: from the device to the host cannot be recorded
// An algorithm that hands its result to the host.
#include <assay/cuda.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>

__global__ void set(float *y, float value) { *y = value; }

extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const float *x = (const float *)args->inputs[0].data;
  float sum = thrust::reduce(thrust::cuda::par.on(stream), x, x + assay_count(&args->inputs[0]));
  set<<<1, 1, 0, stream>>>((float *)args->outputs[0].data, sum);
}
