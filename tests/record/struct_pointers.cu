// made: 1 step
// plan: join<<<4, 256>>>({e80300007d3a0000, x, x+2000,
// plan: , y})
// Pointers inside a struct and an array, one of them to the middle of a buffer.
#include <assay/cuda.h>

struct job {
  int n, rows;
  const float *parts[2];
  struct {
    char tag;
    float *y;
  } out;
};

__global__ void join(job j) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < j.n)
    j.out.y[i] = i < j.n / 2 ? j.parts[0][i] : j.parts[1][i - j.n / 2];
}

extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const float *x = (const float *)args->inputs[0].data;
  int n = (int)assay_count(&args->inputs[0]);
  job j = {n, 14973, {x, x + n / 2}, {'a', (float *)args->outputs[0].data}};
  join<<<(n + 255) / 256, 256, 0, stream>>>(j);
}
