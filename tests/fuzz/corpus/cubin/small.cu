// The kernels of the cubins next to this file, which tests build plans from. Made with ptxas of CUDA 13.0 and 12.4
// (whose files have another ABI version):
//   nvcc -cubin -arch=sm_90 -o small_sm90.cubin small.cu      and so for sm_90a, sm_80
//   nvcc -cubin -arch=sm_90 -DWIDE -o wide_sm90.cubin small.cu
//   nvcc -ptx -arch=sm_90 small.cu (".version 8.4"), ptxas 12.4 -arch=sm_90a -o small_sm90a_v7.cubin small.ptx
#ifndef WIDE
__constant__ float coef[4];

struct pair {
  const float *x;
  float *y;
  int n;
};

// Three parameters, no bound on the threads.
extern "C" __global__ void scale(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] * coef[i & 3];
}

// One struct with two pointers, 64 floats of shared memory, at most 128 threads.
extern "C" __global__ void __launch_bounds__(128) turn(struct pair p) {
  __shared__ float s[64];
  s[threadIdx.x & 63] = p.x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < p.n)
    p.y[threadIdx.x] = s[63 - (threadIdx.x & 63)];
}

#if __CUDA_ARCH__ >= 900
struct __align__(64) map {
  char bytes[128];
};

// A tensor map's place, and clusters of two blocks.
extern "C" __global__ void __cluster_dims__(2, 1, 1) tile(const __grid_constant__ struct map m, float *y) {
  y[blockIdx.x] = m.bytes[threadIdx.x & 127];
}
#else
extern "C" __global__ void none() {}
#endif
#else
struct wide {
  char bytes[4100];
};

extern "C" __global__ void large(const __grid_constant__ struct wide w, char c, short *y) {
  *y = w.bytes[threadIdx.x] + c;
}
#endif
