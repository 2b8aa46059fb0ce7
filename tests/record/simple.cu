// made: 1 step
// plan: for cuda sm_90a, made by nvcc 
// plan: relu<<<4, 256>>>(x, y, 1000)
// plan: aligned to 256
#include <assay/cuda.h>

__global__ void relu(const float *x, float *y, long long n) {
  long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n)
    y[i] = fmaxf(x[i], 0.f);
}

extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  long long n = assay_count(&args->inputs[0]);
  relu<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>((const float *)args->inputs[0].data,
                                                        (float *)args->outputs[0].data, n);
}
