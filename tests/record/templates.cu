// made: 2 steps
// plan: map<<<8, 128>>>(x, y, 1000
// plan: map<<<16, 64>>>(y, y, 1000
// Kernel templates, a lambda's type as a parameter, and the default stream.
#include <assay/cuda.h>

struct twice {
  __device__ float operator()(float v) const { return v + v; }
};

template <class F, int BLOCK> __global__ void map(const float *x, float *y, int n, F f) {
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n)
    y[i] = f(x[i]);
}

extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  int n = (int)assay_count(&args->inputs[0]);
  float *y = (float *)args->outputs[0].data;
  map<twice, 128><<<(n + 127) / 128, 128, 0, stream>>>((const float *)args->inputs[0].data, y, n, twice());
  map<twice, 64><<<(n + 63) / 64, 64>>>(y, y, n, twice());
}
