// Gated linear unit in bf16; a tuner may choose how many elements a thread does.
// assay: task fusedops/swiglu/bf16_swiglu
// assay: tune EACH 4,1,2,8
// assay: twin NO_SIGMOID expect wrong_value|low_precision|wrong_class -- the gate as it is
// assay: twin SWAPPED expect wrong_value|low_precision|wrong_class -- the other input is the gate
// assay: launch swiglu grid=ceil_div(y.count, 256 * EACH) block=256 args=g, u, y, y.count
#ifndef EACH
#define EACH 4
#endif
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

__global__ void swiglu(const bf16 *g, const bf16 *u, bf16 *y, long long count) {
#ifdef SWAPPED
  const bf16 *kept = g;
  g = u;
  u = kept;
#endif
  long long first = blockIdx.x * 256ll * EACH + threadIdx.x;
  for (int e = 0; e < EACH; e++) {
    long long i = first + e * 256;
    if (i >= count)
      return;
    float gate = wide(g[i]);
#ifdef NO_SIGMOID
    y[i] = narrow(gate * wide(u[i]));
#else
    y[i] = narrow(gate / (1 + expf(-gate)) * wide(u[i]));
#endif
  }
}
