// made: 3 steps
// plan: 0  add<<<4, 256>>>(x, scratch 0, 1000, 1f)
// plan: 2  add<<<4, 256>>>(scratch 0, y, 1000, 2f)
// Work on a second stream, forked from the entry's and joined with it by events; and static state of host code.
#include <assay/cuda.h>

__global__ void add(const float *x, float *y, int n, float c) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    y[i] = x[i] + c;
}

static int calls;

extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data, *half;
  int n = (int)assay_count(&args->inputs[0]);
  cudaStream_t side;
  cudaEvent_t forked, joined;
  calls++; // always 1: every plan is made in a process of its own
  cudaMalloc(&half, n * sizeof(float));
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&forked, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&joined, cudaEventDisableTiming);
  cudaEventRecord(forked, stream);
  cudaStreamWaitEvent(side, forked, 0);
  add<<<(n + 255) / 256, 256, 0, side>>>(x, half, n, (float)calls);
  add<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n, 1);
  cudaEventRecord(joined, side);
  cudaStreamWaitEvent(stream, joined, 0);
  add<<<(n + 255) / 256, 256, 0, stream>>>(half, y, n, 2);
  cudaEventDestroy(joined);
  cudaStreamDestroy(side);
}
