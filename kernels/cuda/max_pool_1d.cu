// Maximum over dilated windows of sequences.
// assay: task kernelbench/1/41
// assay: twin ZERO_PADDING expect wrong_value|changed_behaviour -- padding with zero instead of minus infinity
// assay: twin NO_BARRIER expect wrong_value|wrong_class|changed_behaviour -- reads shared memory before it is written
// assay: twin UNDILATED expect wrong_value -- neighbours instead of every third element
// A block makes 2048 neighbours of one row. Their inputs go through shared memory, so that each is read from memory
// once; rows of inputs and outputs do not begin at multiples of 16 bytes together, and go float by float.
// assay: let O = L + 8 - 21
// assay: launch max_pool_1d grid=ceil_div(O, 2048),N * C block=256 args=x, y, L, O
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 256, OUTPUTS = 8, TILE = THREADS * OUTPUTS, WINDOW = 8, DILATION = 3, PAD = 4 };

#ifdef ZERO_PADDING
#define PADDING 0
#else
#define PADDING (-__int_as_float(0x7f800000)) // minus infinity
#endif
#ifdef UNDILATED
#define STEP 1
#else
#define STEP DILATION
#endif

__global__ void __launch_bounds__(THREADS)
    max_pool_1d(const float *__restrict__ x, float *__restrict__ y, int L, int O) {
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
#ifndef NO_BARRIER
  __syncthreads();
#endif
#pragma unroll
  for (int i = 0; i < OUTPUTS; i++) {
    int o = i * THREADS + t;
    const float *w = &tile[o];
    float r = w[0];
#pragma unroll
    for (int k = 1; k < WINDOW; k++)
      r = fmaxf(r, w[k * STEP]);
    if (first + o < O)
      __stcs(&y[first + o], r);
  }
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const int64_t *dims = args->inputs[0].dims;
  int rows = (int)(dims[0] * dims[1]), L = (int)dims[2], O = L + 2 * PAD - (WINDOW - 1) * DILATION;
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  max_pool_1d<<<dim3((unsigned int)((O + TILE - 1) / TILE), (unsigned int)rows), THREADS, 0, stream>>>(x, y, L, O);
}
#endif
