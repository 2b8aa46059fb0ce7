// Mean over windows of sequences, padding counted.
// assay: task kernelbench/1/44
// assay: twin NOT_COUNTED expect wrong_value -- divides by the elements that are no padding
// assay: twin SEVEN expect wrong_value -- the last element of a window does not count
// A block makes up to 2048 neighbours of one row. Their inputs go through shared memory, float by float, so that each
// is read from memory once. Rows of inputs and outputs do not begin at multiples of 16 bytes together: a block begins
// where outputs do, so that a thread makes four at a time of three vectors in shared memory and stores them as one.
// assay: let O = L + 8 - 7
// assay: let blocks = ceil_div(O + 3, 2048)
// assay: let share = round_up(ceil_div(O + 3, blocks), 4)
// assay: launch avg_pool_1d grid=blocks,N * C block=256 args=x, y, L, O, share
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 256, OUTPUTS = 8, TILE = THREADS * OUTPUTS, WINDOW = 8, DILATION = 1, PAD = 4 };

#define PADDING 0

__global__ void __launch_bounds__(THREADS)
    avg_pool_1d(const float *__restrict__ x, float *__restrict__ y, int L, int O, int share) {
  const int REACH = (WINDOW - 1) * DILATION;
  __shared__ __align__(16) float tile[TILE + REACH + 1];
  // Output `first` of the row lies at a multiple of 16 bytes; up to three before the row's are left out.
  const long long row = (long long)blockIdx.y * O;
  const int first = (int)blockIdx.x * share - (int)(row & 3), t = (int)threadIdx.x;
  x += (long long)blockIdx.y * L;
  y += row;
  float v[OUTPUTS + 1];
#pragma unroll
  for (int i = 0; i <= OUTPUTS; i++) {
    int at = first - PAD + i * THREADS + t; // tile[i] is element first - PAD + i of the row
    v[i] = at >= 0 && at < L && i * THREADS + t < share + REACH ? __ldcs(&x[at]) : PADDING;
  }
#pragma unroll
  for (int i = 0; i <= OUTPUTS; i++)
    if (i < OUTPUTS || t <= REACH)
      tile[i * THREADS + t] = v[i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < OUTPUTS / 4; i++) {
    int o = (i * THREADS + t) * 4, at = first + o;
    if (o >= share || at >= O)
      break;
    const float4 *from = (const float4 *)&tile[o];
    const float4 a = from[0], b = from[1], c = from[2];
    const float shared = (a.w + b.x) + (b.y + b.z) + b.w; // by all four windows
    float r[4] = {(a.x + a.y) + a.z + shared, (a.y + a.z) + c.x + shared, a.z + (c.x + c.y) + shared,
                  (c.x + c.y) + c.z + shared};
#pragma unroll
    for (int j = 0; j < 4; j++) {
#ifdef SEVEN
      r[j] -= tile[o + j + 7];
#endif
#ifdef NOT_COUNTED
      int begin = at + j - PAD, count = min(L, begin + WINDOW) - max(0, begin);
#else
      const int count = WINDOW;
#endif
      r[j] /= (float)count;
    }
    if (at >= 0 && at + 4 <= O) {
      __stcs((float4 *)&y[at], make_float4(r[0], r[1], r[2], r[3]));
      continue;
    }
#pragma unroll
    for (int j = 0; j < 4; j++)
      if (at + j >= 0 && at + j < O)
        y[at + j] = r[j];
  }
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  const int64_t *dims = args->inputs[0].dims;
  int rows = (int)(dims[0] * dims[1]), L = (int)dims[2], O = L + 2 * PAD - (WINDOW - 1) * DILATION;
  const float *x = (const float *)args->inputs[0].data;
  float *y = (float *)args->outputs[0].data;
  int blocks = (O + 3 + TILE - 1) / TILE, share = ((O + 3 + blocks - 1) / blocks + 3) / 4 * 4;
  avg_pool_1d<<<dim3((unsigned int)blocks, (unsigned int)rows), THREADS, 0, stream>>>(x, y, L, O, share);
}
#endif
