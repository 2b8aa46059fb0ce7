// Launches that a device or a plan cannot hold (catalogue 29, 32): refused before anything runs, or by the driver; and
// many that it can.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin MANY expect pass -- 3000 launches, more than the device's queue takes
// assay: twin TOO_MANY expect unrecordable|invalid_plan -- a hundred thousand
// assay: twin NO_LAUNCH expect invalid_plan|unrecordable -- none
// assay: twin ONLY_FILL expect wrong_value|wrong_class|unwritten -- a fill instead
// assay: twin FILL_AND_LEAVE expect wrong_value -- zeros, and half of the work
// assay: twin COPY_INPUT expect wrong_value -- a copy of the input
// assay: twin COPY_TO_INPUT expect invalid_plan|unrecordable -- a copy over the input
// assay: twin FILL_INPUT expect invalid_plan|unrecordable -- zeros over the input
// assay: twin COPY_BEYOND expect invalid_plan|unrecordable -- a copy beyond the output's end
// assay: twin GRID_ZERO expect unrecordable|invalid_plan -- a grid of nothing
// assay: twin GRID_LARGE expect unrecordable|invalid_plan -- 70000 blocks in y
// assay: twin BLOCK_LARGE expect unrecordable|invalid_plan -- 2048 threads
// assay: twin SHARED_LARGE expect unrecordable|invalid_plan -- 512 KiB of shared memory
// assay: twin SHARED_UNASKED expect unrecordable|invalid_plan -- 64 KiB that nobody asked for
// assay: twin COOPERATIVE expect unrecordable -- a cooperative grid of a million blocks
// assay: twin REGISTERS expect unrecordable|invalid_plan -- more threads than there are registers for
// assay: twin SCRATCH_LARGE expect unrecordable -- a terabyte
// assay: twin SCRATCH_FULL expect unrecordable|invalid_plan|out_of_memory -- twice what a GPU has, in pieces
// assay: twin LOCAL_LARGE expect pass|out_of_memory|launch_failed -- 480 KiB of stack a thread: the card's memory decides
// assay: twin ALIASES expect unrecordable|invalid_plan -- the output's pointer, passed as a number
#include <assay/cuda.h>

__global__ void relu(const float *x, float *y, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
#ifdef LOCAL_LARGE
  volatile float much[120 << 10];
  much[i % (120 << 10)] = 1;
  much[(i * 7919) % (120 << 10)] = 2;
#endif
  if (i < n)
    y[i] = x[i] < 0 ? 0 : x[i];
}

__global__ void with_shared(const float *x, float *y, long long n) {
  extern __shared__ float memory[];
  long long i = blockIdx.x * 256ll + threadIdx.x;
  memory[threadIdx.x] = i < n ? x[i] : 0;
  if (i < n)
    y[i] = memory[threadIdx.x] < 0 ? 0 : memory[threadIdx.x];
}

__global__ void piece(const float *x, float *y, long long from, long long to) {
  for (long long i = from + threadIdx.x; i < to; i += 32)
    y[i] = x[i] < 0 ? 0 : x[i];
}

__global__ void __launch_bounds__(1024)
    by_number(const float *x, unsigned long long low, unsigned long long high, long long n) {
  long long i = blockIdx.x * 256ll + threadIdx.x;
  float *y = (float *)(high << 32 | low);
  if (i < n)
    y[i] = x[i] < 0 ? 0 : x[i];
}

// So many values alive at once that a thread needs all registers it can have.
__global__ void hungry(const float *x, float *y, long long n) {
  float v[160];
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 160; k++)
    v[k] = x[(i * 160 + k) % n];
#pragma unroll
  for (int r = 0; r < 4; r++)
#pragma unroll
    for (int k = 0; k < 160; k++)
      v[k] = v[k] * v[(k * 37 + 11) % 160] + v[(k * 61 + 7) % 160];
#pragma unroll
  for (int k = 0; k < 160; k++)
    y[(i * 160 + k) % n] = v[k];
}

extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  long long n = assay_count(&args->inputs[0]);
  size_t bytes = (size_t)n * sizeof *y;
  unsigned int blocks = (unsigned int)((n + 255) / 256);
#if defined(MANY) || defined(TOO_MANY)
#ifdef MANY
  const long long pieces = 3000;
#else
  const long long pieces = 100000;
#endif
  for (long long k = 0; k < pieces; k++)
    piece<<<1, 32, 0, stream>>>(x, y, n * k / pieces, n * (k + 1) / pieces);
#elif defined(NO_LAUNCH)
  (void)x, (void)y, (void)bytes, (void)blocks;
#elif defined(ONLY_FILL)
  cudaMemsetAsync(y, 0, bytes, stream);
#elif defined(FILL_AND_LEAVE)
  cudaMemsetAsync(y, 0, bytes, stream);
  piece<<<1, 32, 0, stream>>>(x, y, 0, (n + 1) / 2);
#elif defined(COPY_INPUT)
  cudaMemcpyAsync(y, x, bytes, cudaMemcpyDeviceToDevice, stream);
#elif defined(COPY_TO_INPUT)
  relu<<<blocks, 256, 0, stream>>>(x, y, n);
  cudaMemcpyAsync((void *)x, y, bytes, cudaMemcpyDeviceToDevice, stream);
#elif defined(FILL_INPUT)
  relu<<<blocks, 256, 0, stream>>>(x, y, n);
  cudaMemsetAsync((void *)x, 0, bytes, stream);
#elif defined(COPY_BEYOND)
  cudaMemcpyAsync(y, x, bytes + 4096, cudaMemcpyDeviceToDevice, stream);
#elif defined(GRID_ZERO)
  relu<<<0, 256, 0, stream>>>(x, y, n);
#elif defined(GRID_LARGE)
  relu<<<dim3(blocks, 70000), 256, 0, stream>>>(x, y, n);
#elif defined(BLOCK_LARGE)
  relu<<<blocks, 2048, 0, stream>>>(x, y, n);
#elif defined(SHARED_LARGE)
  cudaFuncSetAttribute(with_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 512 << 10);
  with_shared<<<blocks, 256, 512 << 10, stream>>>(x, y, n);
#elif defined(SHARED_UNASKED)
  with_shared<<<blocks, 256, 64 << 10, stream>>>(x, y, n);
#elif defined(COOPERATIVE)
  void *parameters[] = {&x, &y, &n};
  cudaLaunchCooperativeKernel((const void *)relu, dim3(1 << 20), dim3(256), parameters, 0, stream);
#elif defined(REGISTERS)
  hungry<<<blocks, 1024, 0, stream>>>(x, y, n);
#elif defined(SCRATCH_LARGE)
  float *part = NULL;
  cudaMalloc(&part, (size_t)1 << 40);
  relu<<<blocks, 256, 0, stream>>>(x, part, n);
  cudaMemcpyAsync(y, part, bytes, cudaMemcpyDeviceToDevice, stream);
#elif defined(SCRATCH_FULL)
  float *part = NULL;
  for (int k = 0; k < 20; k++)
    cudaMalloc(&part, (size_t)15 << 30);
  relu<<<blocks, 256, 0, stream>>>(x, part, n);
  cudaMemcpyAsync(y, part, bytes, cudaMemcpyDeviceToDevice, stream);
#elif defined(ALIASES)
  by_number<<<blocks, 256, 0, stream>>>(x, (unsigned long long)y & 0xffffffff, (unsigned long long)y >> 32, n);
#else
  relu<<<blocks, 256, 0, stream>>>(x, y, n);
#endif
  (void)bytes;
}
