// Root mean square normalisation of rows in bf16, a block a row.
// assay: task fusedops/rms_norm/bf16_rms_norm
// assay: twin NO_EPSILON expect wrong_value|wrong_class|low_precision -- rows near zero are not divided by what is added
// assay: twin NO_SCALE expect wrong_value|low_precision -- forgets w
// assay: twin TAIL expect wrong_value|low_precision|wrong_class|unwritten -- leaves out what is beyond whole blocks
// assay: launch rms_norm grid=R block=256 args=x, w, y, D
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

__global__ void rms_norm(const bf16 *x, const bf16 *w, bf16 *y, int d) {
  x += (long long)blockIdx.x * d;
  y += (long long)blockIdx.x * d;
  float sum = 0;
#ifdef TAIL
  d -= d % 256;
#endif
  for (int i = threadIdx.x; i < d; i += 256)
    sum += wide(x[i]) * wide(x[i]);
#ifdef NO_EPSILON
  float scale = 1 / sqrtf(sum_of_block(sum) / d);
#else
  float scale = 1 / sqrtf(sum_of_block(sum) / d + 1e-5f);
#endif
  for (int i = threadIdx.x; i < d; i += 256)
#ifdef NO_SCALE
    y[i] = narrow(wide(x[i]) * scale);
#else
    y[i] = narrow(wide(x[i]) * scale * wide(w[i]));
#endif
}
