// made: 1 step
#include <assay/cuda.h>
#include <thrust/execution_policy.h>
#include <thrust/transform.h>

struct twice {
  __device__ float operator()(float v) const { return v + v; }
};

extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const float *x = (const float *)args->inputs[0].data;
  thrust::transform(thrust::cuda::par_nosync.on(stream), x, x + assay_count(&args->inputs[0]),
                    (float *)args->outputs[0].data, twice());
}
