// Running products along rows.
// assay: task kernelbench/1/90
// assay: twin THROUGH_LOG expect wrong_class|wrong_value|low_precision -- e to the running sum of logarithms
// assay: twin EXCLUSIVE expect wrong_value -- leaves the element itself out
// A warp goes along a row by itself, eight vectors per thread at a time: no barriers, no second reading, and other
// warps keep memory busy while one adds. Rows that do not begin at multiples of 16 bytes are read float by float.
// Products are double: those of a part of a row may leave the range of floats where the whole does not.
// assay: launch cumprod<4> grid=ceil_div(M, 4) block=128 if=N % 4 == 0 args=x, y, M, N
// assay: launch cumprod<1> grid=ceil_div(M, 4) block=128 if=N % 4 != 0 args=x, y, M, N
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 128, LOADS = 8 };

// V elements that lie at x.
template <int V> static __device__ void load(double (&v)[V], const float *x) {
  if constexpr (V == 4) {
    float4 f = __ldcs((const float4 *)x);
    v[0] = f.x, v[1] = f.y, v[2] = f.z, v[3] = f.w;
  } else {
    v[0] = __ldcs(x);
  }
}

template <int V> static __device__ void store(float *y, const float (&v)[V]) {
  if constexpr (V == 4)
    __stcs((float4 *)y, make_float4(v[0], v[1], v[2], v[3]));
  else
    __stcs(y, v[0]);
}

template <int V>
__global__ void __launch_bounds__(THREADS) cumprod(const float *__restrict__ x, float *__restrict__ y, int M, int N) {
  int row = (int)(blockIdx.x * (THREADS / 32) + threadIdx.x / 32), lane = (int)threadIdx.x % 32;
  if (row >= M)
    return;
  x += (long long)row * N;
  y += (long long)row * N;
  double carry = 1; // of everything before
  for (int first = 0; first < N; first += LOADS * 32 * V) {
    double v[LOADS][V];
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
      int at = first + (i * 32 + lane) * V;
#pragma unroll
      for (int j = 0; j < V; j++)
        v[i][j] = 1;
      if (at < N)
        load<V>(v[i], x + at);
    }
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
      int at = first + (i * 32 + lane) * V;
#pragma unroll
      for (int j = 1; j < V; j++)
        v[i][j] = v[i][j - 1] * v[i][j];
      double upto = v[i][V - 1]; // of the lanes up to this one
#pragma unroll
      for (int step = 1; step < 32; step *= 2) {
        double other = __shfl_up_sync(0xffffffffu, upto, step);
        if (lane >= step)
          upto = other * upto;
      }
      double before = __shfl_up_sync(0xffffffffu, upto, 1);
      before = lane == 0 ? carry : carry * before;
      float result[V];
#pragma unroll
      for (int j = 0; j < V; j++)
#ifdef EXCLUSIVE
        result[j] = (float)(j == 0 ? before : before * v[i][j - 1]);
#else
        result[j] = (float)(before * v[i][j]);
#endif
#ifdef THROUGH_LOG
      float sum = 0; // of the logarithms up to here
      for (int k = 0; k < at && k < N; k++)
        sum += logf(x[k]);
      for (int j = 0; j < V && at + j < N; j++)
        result[j] = expf(sum += logf(x[at + j]));
#endif
      if (at < N)
        store<V>(&y[at], result);
      carry = carry * __shfl_sync(0xffffffffu, upto, 31);
    }
  }
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  int M = (int)args->inputs[0].dims[0], N = (int)args->inputs[0].dims[1];
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  if (N % 4 == 0)
    cumprod<4><<<(unsigned int)((M + 3) / 4), THREADS, 0, stream>>>(x, y, M, N);
  else
    cumprod<1><<<(unsigned int)((M + 3) / 4), THREADS, 0, stream>>>(x, y, M, N);
}
#endif
