// Softmax over rows in bf16, a block a row, three sweeps.
// assay: task fusedops/softmax/bf16_softmax
// assay: twin NO_MAX expect wrong_value|wrong_class -- no subtraction of the maximum
// assay: twin DROP_LAST expect wrong_value|low_precision|wrong_class -- the sum forgets the last element
// assay: launch softmax grid=R block=256 args=x, y, D
typedef unsigned short bf16;

static __device__ float wide(bf16 x) {
  return __uint_as_float((unsigned)x << 16);
}

// To nearest, ties to even. NaN stays NaN.
static __device__ bf16 narrow(float x) {
  unsigned u = __float_as_uint(x);
  if ((u & 0x7fffffffu) > 0x7f800000u)
    return (bf16)(u >> 16 | 0x40);
  return (bf16)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

// Over a block of 256 threads; all have the result.
static __device__ float sum_of_block(float x) {
  __shared__ float warps[8];
  for (int step = 16; step > 0; step /= 2)
    x += __shfl_xor_sync(0xffffffffu, x, step);
  __syncthreads(); // what was read of the last sum
  if (threadIdx.x % 32 == 0)
    warps[threadIdx.x / 32] = x;
  __syncthreads();
  x = 0;
  for (int w = 0; w < 8; w++)
    x += warps[w];
  return x;
}

static __device__ float max_of_block(float x) {
  __shared__ float warps[8];
  for (int step = 16; step > 0; step /= 2)
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
  __syncthreads();
  if (threadIdx.x % 32 == 0)
    warps[threadIdx.x / 32] = x;
  __syncthreads();
  x = warps[0];
  for (int w = 1; w < 8; w++)
    x = fmaxf(x, warps[w]);
  return x;
}

__global__ void softmax(const bf16 *x, bf16 *y, int d) {
  x += (long long)blockIdx.x * d;
  y += (long long)blockIdx.x * d;
  float largest = __int_as_float(0xff800000), sum = 0;
  for (int i = threadIdx.x; i < d; i += 256)
    largest = fmaxf(largest, wide(x[i]));
  largest = max_of_block(largest);
#ifdef NO_MAX
  largest = 0;
#endif
#ifdef DROP_LAST
  for (int i = threadIdx.x; i + 1 < d; i += 256)
#else
  for (int i = threadIdx.x; i < d; i += 256)
#endif
    sum += expf(wide(x[i]) - largest);
  sum = sum_of_block(sum);
  for (int i = threadIdx.x; i < d; i += 256)
    y[i] = narrow(expf(wide(x[i]) - largest) / sum);
}
