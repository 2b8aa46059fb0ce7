// Mean over windows of sequences, padding counted.
// assay: task kernelbench/1/44
// assay: twin NOT_COUNTED expect wrong_value -- divides by the elements that are no padding
// assay: twin SEVEN expect wrong_value -- the last element of a window does not count
// A block makes 2048 neighbours of one row. Their inputs go through shared memory, so that each is read from memory
// once; rows of inputs and outputs do not begin at multiples of 16 bytes together, and go float by float.
// assay: let O = L + 8 - 7
// assay: launch avg_pool_1d grid=ceil_div(O, 2048),N * C block=256 args=x, y, L, O
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 256, OUTPUTS = 8, TILE = THREADS * OUTPUTS, WINDOW = 8, DILATION = 1, PAD = 4 };

#define PADDING 0

__global__ void __launch_bounds__(THREADS)
    avg_pool_1d(const float *__restrict__ x, float *__restrict__ y, int L, int O) {
  const int REACH = (WINDOW - 1) * DILATION;
  __shared__ float tile[TILE + REACH];
  int first = (int)blockIdx.x * TILE, t = (int)threadIdx.x; // tile[i] is element first - PAD + i of the row
  x += (long long)blockIdx.y * L;
  y += (long long)blockIdx.y * O;
  float v[OUTPUTS + 1];
#pragma unroll
  for (int i = 0; i <= OUTPUTS; i++) {
    int at = first - PAD + i * THREADS + t;
    v[i] = at >= 0 && at < L && (i < OUTPUTS || t < REACH) ? __ldcs(&x[at]) : PADDING;
  }
#pragma unroll
  for (int i = 0; i <= OUTPUTS; i++)
    if (i < OUTPUTS || t < REACH)
      tile[i * THREADS + t] = v[i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < OUTPUTS; i++) {
    int o = i * THREADS + t;
    const float *w = &tile[o];
    float r = ((w[0] + w[1]) + (w[2] + w[3])) + ((w[4] + w[5]) + (w[6] + w[7]));
#ifdef SEVEN
    r -= w[7];
#endif
#ifdef NOT_COUNTED
    int begin = first + o - PAD;
    int count = min(L, begin + WINDOW) - max(0, begin);
#else
    const int count = WINDOW;
#endif
    if (first + o < O)
      __stcs(&y[first + o], r / (float)count);
  }
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const int64_t *dims = args->inputs[0].dims;
  int rows = (int)(dims[0] * dims[1]), L = (int)dims[2], O = L + 2 * PAD - (WINDOW - 1) * DILATION;
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  avg_pool_1d<<<dim3((unsigned int)((O + TILE - 1) / TILE), (unsigned int)rows), THREADS, 0, stream>>>(x, y, L, O);
}
#endif
