// What the test of kernels must see: another argument in the host code than in the launch lines.
// assay: task kernelbench/1/19
// assay: launch copy grid=ceil_div(x.count, 256) block=256 args=x, y, x.count
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
  copy<<<(unsigned int)((n + 255) / 256), 256, 0, stream>>>((const float *)args->inputs[0].data,
                                                            (float *)args->outputs[0].data, n > 10 ? n - 1 : n);
}
#endif
