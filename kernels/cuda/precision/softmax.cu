// Softmax over rows in different precisions: the examples of docs/numerics.md. A block for each row.
// assay: task kernelbench/1/23
// assay: twin FAST_EXP expect pass -- the hardware's exponential alone errs as much as x - max did when it was rounded
// assay: twin FAST_DIVIDE expect pass -- multiplies by an approximate reciprocal
// assay: twin HALF_EXP expect low_precision|wrong_value -- exponentials are kept in fp16
// assay: twin HALF_SUM expect low_precision|wrong_value|wrong_class -- every thread's sum is kept in fp16
// assay: twin BF16_INPUTS expect low_precision|wrong_value -- inputs are rounded to bf16
// assay: launch softmax grid=M block=256 args=x, y, N
#include <cuda_bf16.h>
#include <cuda_fp16.h>

static __device__ float input(float x) {
#ifdef BF16_INPUTS
  return __bfloat162float(__float2bfloat16_rn(x));
#else
  return x;
#endif
}

static __device__ float exponential(float x) {
#if defined(FAST_EXP)
  return __expf(x);
#elif defined(HALF_EXP)
  return __half2float(__float2half_rn(expf(x)));
#else
  return expf(x);
#endif
}

static __device__ float add(float a, float b) {
#ifdef HALF_SUM
  return __half2float(__float2half_rn(a + b));
#else
  return a + b;
#endif
}

__global__ void __launch_bounds__(256) softmax(const float *__restrict__ x, float *__restrict__ y, int N) {
  __shared__ float shared[256];
  int t = (int)threadIdx.x;
  x += (long long)blockIdx.x * N;
  y += (long long)blockIdx.x * N;
  float largest = __int_as_float(0xff800000), sum = 0; // minus infinity
  for (int i = t; i < N; i += 256)
    largest = fmaxf(largest, input(x[i]));
  shared[t] = largest;
  for (int width = 128; width > 0; width /= 2) {
    __syncthreads();
    if (t < width)
      shared[t] = fmaxf(shared[t], shared[t + width]);
  }
  __syncthreads();
  largest = shared[0];
  __syncthreads();
  for (int i = t; i < N; i += 256)
    sum = add(sum, exponential(input(x[i]) - largest));
  shared[t] = sum;
  for (int width = 128; width > 0; width /= 2) {
    __syncthreads();
    if (t < width)
      shared[t] += shared[t + width];
  }
  __syncthreads();
  for (int i = t; i < N; i += 256)
#ifdef FAST_DIVIDE
    y[i] = __fdividef(exponential(input(x[i]) - largest), shared[0]);
#else
    y[i] = exponential(input(x[i]) - largest) / shared[0];
#endif
}
