// What the test of kernels must see: scratch of another size in the host code than in the launch lines.
// assay: task kernelbench/1/19
// assay: scratch part float[x.count]
// assay: launch copy grid=ceil_div(x.count, 256) block=256 args=x, part, x.count
// assay: launch copy grid=ceil_div(x.count, 256) block=256 args=part, y, x.count
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif
__global__ void copy(const float *x, float *y, long long n) {
  long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n)
    y[i] = x[i];
}
#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  long long n = assay_count(&args->inputs[0]);
  unsigned int blocks = (unsigned int)((n + 255) / 256);
  float *part;
  cudaMallocAsync((void **)&part, (size_t)(n + 1) * 4, stream);
  copy<<<blocks, 256, 0, stream>>>((const float *)args->inputs[0].data, part, n);
  copy<<<blocks, 256, 0, stream>>>(part, (float *)args->outputs[0].data, n);
}
#endif
