// A diagonal matrix, given by its diagonal, times a matrix: every row is scaled. As fast as memory can be copied.
// assay: task kernelbench/1/12
// assay: twin SCALED_COLUMNS expect wrong_value|out_of_bounds|wrong_class -- the diagonal matrix on the other side
// assay: twin BF16_DIAGONAL expect low_precision|wrong_value -- rounds the diagonal to bfloat16
// assay: twin NO_TAIL expect unwritten|wrong_value -- leaves out what is left of a row behind the last whole vector
// A block takes a piece of one row, so that the factor is loaded once and no thread divides.
// assay: let pieces = M % 4 == 0 ? ceil_div(M, 4096) : ceil_div(M, 1024)
// assay: launch scale_rows<4> grid=N * pieces block=256 if=M % 4 == 0 args=d, b, y, M, pieces
// assay: launch scale_rows<1> grid=N * pieces block=256 if=M % 4 != 0 args=d, b, y, M, pieces
#ifndef __CUDACC_RTC__
#include <assay/cuda.h>
#endif

enum { THREADS = 256, LOADS = 4 };

static __device__ float product(float d, float b) {
#ifdef BF16_DIAGONAL
  d = __uint_as_float((__float_as_uint(d) + 0x8000) & 0xffff0000u);
#endif
  return d * b;
}

template <int V>
__global__ void __launch_bounds__(THREADS)
    scale_rows(const float *__restrict__ d, const float *__restrict__ b, float *__restrict__ y, int M, int pieces) {
  int row = (int)blockIdx.x / pieces, first = (int)blockIdx.x % pieces * THREADS * LOADS * V;
  const float *from = b + (long long)row * M;
  float *to = y + (long long)row * M;
#ifdef SCALED_COLUMNS
  float factor = d[(first + (int)threadIdx.x) % (int)(gridDim.x / pieces)];
#else
  float factor = d[row];
#endif
#ifdef NO_TAIL
  M = M / 4 * 4;
#endif
  if (V == 4) {
    float4 v[LOADS];
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
      int column = first + (i * THREADS + (int)threadIdx.x) * 4;
      if (column < M)
        v[i] = *(const float4 *)&from[column];
    }
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
      int column = first + (i * THREADS + (int)threadIdx.x) * 4;
      if (column < M)
        *(float4 *)&to[column] = make_float4(product(factor, v[i].x), product(factor, v[i].y), product(factor, v[i].z),
                                             product(factor, v[i].w));
    }
  } else {
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
      int column = first + i * THREADS + (int)threadIdx.x;
      if (column < M)
        to[column] = product(factor, from[column]);
    }
  }
}

#ifndef __CUDACC_RTC__
extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  int N = (int)args->inputs[1].dims[0], M = (int)args->inputs[1].dims[1];
  const float *d = (const float *)args->inputs[0].data, *b = (const float *)args->inputs[1].data;
  float *y = (float *)args->outputs[0].data;
  int pieces = M % 4 == 0 ? (M + 4095) / 4096 : (M + 1023) / 1024;
  if (M % 4 == 0)
    scale_rows<4><<<(unsigned int)(N * pieces), THREADS, 0, stream>>>(d, b, y, M, pieces);
  else
    scale_rows<1><<<(unsigned int)(N * pieces), THREADS, 0, stream>>>(d, b, y, M, pieces);
}
#endif
