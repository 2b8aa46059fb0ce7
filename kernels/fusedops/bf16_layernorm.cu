// Layer normalisation of rows in bf16, a block a row. Mean and variance in two passes, in single precision: rows may
// lie far from zero.
// assay: task fusedops/layernorm/bf16_layernorm
// assay: twin ONE_PASS expect wrong_value|low_precision|wrong_class -- variance as E[x^2] - E[x]^2
// assay: twin NO_AFFINE expect wrong_value|low_precision -- neither scale nor shift
// assay: twin UNBIASED expect wrong_value|low_precision|wrong_class -- divides by one less
// assay: launch layernorm grid=R block=256 args=x, w, b, y, D
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

__global__ void layernorm(const bf16 *x, const bf16 *w, const bf16 *b, bf16 *y, int d) {
  x += (long long)blockIdx.x * d;
  y += (long long)blockIdx.x * d;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < d; i += 256)
    sum += wide(x[i]);
  float mean = sum_of_block(sum) / d;
  for (int i = threadIdx.x; i < d; i += 256) {
#ifdef ONE_PASS
    float v = wide(x[i]);
#else
    float v = wide(x[i]) - mean;
#endif
    squares += v * v;
  }
#if defined(ONE_PASS)
  float variance = sum_of_block(squares) / d - mean * mean;
#elif defined(UNBIASED)
  float variance = sum_of_block(squares) / (d - 1);
#else
  float variance = sum_of_block(squares) / d;
#endif
  float scale = 1 / sqrtf(variance + 1e-5f);
  for (int i = threadIdx.x; i < d; i += 256) {
    float v = (wide(x[i]) - mean) * scale;
#ifndef NO_AFFINE
    v = v * wide(w[i]) + wide(b[i]);
#endif
    y[i] = narrow(v);
  }
}
