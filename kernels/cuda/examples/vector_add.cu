// assay: task examples/1/1
// assay: twin NO_BOUND expect out_of_bounds -- no bounds check
// assay: twin SUBTRACTS expect wrong_value -- the wrong operation
// The first kernel that anybody writes, a thread an element: what a judgement costs when the work itself costs nothing.
// assay: let n = a.count
// assay: launch add grid=ceil_div(n, 256) block=256 args=a, b, y, int(n)
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

__global__ void add(const float *a, const float *b, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifndef NO_BOUND
  if (i < n)
#endif
#ifdef SUBTRACTS
    y[i] = a[i] - b[i];
#else
    y[i] = a[i] + b[i];
#endif
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  int n = (int)assay_count(&args->outputs[0]);
  add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>((const float *)args->inputs[0].data,
                                                      (const float *)args->inputs[1].data,
                                                      (float *)args->outputs[0].data, n);
}
#endif
