// Kernels that need much of an SM, next to one that does not. Made with ptxas of CUDA 13.0, which says of them (-Xptxas -v):
// hold: 32 registers, a stack frame of 232 bytes; turn: 14 registers, 2048 bytes of shared memory.
//   nvcc -cubin -arch=sm_90 -o needs_sm90.cubin needs.cu
extern "C" __global__ void __launch_bounds__(256, 8) hold(const float *x, float *y, int n) {
  float a[40], sum = 0;
  int i = threadIdx.x + blockIdx.x * blockDim.x;
#pragma unroll
  for (int k = 0; k < 40; k++)
    a[k] = x[i + k * n];
#pragma unroll
  for (int k = 0; k < 40; k++) {
    sum += a[k];
    __syncthreads();
  }
#pragma unroll
  for (int k = 0; k < 40; k++)
    y[i + k * n] = a[k] * sum;
}

extern "C" __global__ void turn(const float *x, float *y) {
  __shared__ float s[512];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = s[511 - threadIdx.x];
}
