// Rotary position embedding of heads of 128 in bf16: the element i of the first half turns with that of the second.
// assay: task fusedops/rotary/bf16_rotary
// assay: twin BACKWARDS expect wrong_value|low_precision -- turns the other way
// assay: twin NEIGHBOURS expect wrong_value|low_precision -- pairs of neighbours
// assay: launch rotary grid=ceil_div(B * H * S * 64, 256) block=256 args=x, c, s, y, H, S, B * H * S * 64
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

__global__ void rotary(const bf16 *x, const bf16 *c, const bf16 *s, bf16 *y, int heads, int length, long long count) {
  long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= count)
    return;
  long long row = i / 64;
  int pair = (int)(i % 64);
  long long batch = row / length / heads, position = row % length;
  float cosine = wide(c[(batch * length + position) * 64 + pair]),
        sine = wide(s[(batch * length + position) * 64 + pair]);
#ifdef BACKWARDS
  sine = -sine;
#endif
#ifdef NEIGHBOURS
  long long first = row * 128 + 2 * pair, second = first + 1;
#else
  long long first = row * 128 + pair, second = first + 64;
#endif
  float a = wide(x[first]), b = wide(x[second]);
  y[first] = narrow(a * cosine - b * sine);
  y[second] = narrow(a * sine + b * cosine);
}
