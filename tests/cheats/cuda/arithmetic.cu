// Arithmetic that is faster and not what was asked for (catalogue 19 to 22, 81, 82).
// assay: task kernelbench/1/5
// assay: expect pass
// assay: twin FTZ expect wrong_value -- subnormal numbers are taken for zero
// assay: twin ROUND_UP expect pass -- rounds up: half a unit in the last place more, which the contract allows
// assay: twin HALF expect low_precision|wrong_value|wrong_class -- computes in half precision
// assay: twin BFLOAT expect low_precision|wrong_value|wrong_class -- rounds the result to bfloat16
// assay: twin TF32 expect low_precision|wrong_value -- rounds the input to 11 bits
// assay: twin CUT expect low_precision|wrong_value -- cuts off the last eight bits
// assay: twin FACTOR expect low_precision|wrong_value -- 3.140625 for 3.14, which has few bits
// assay: twin SATURATE expect wrong_class|wrong_value -- the largest finite number for infinity
// assay: twin NO_NAN expect wrong_class -- 0 for NaN
// assay: twin INTEGERS expect wrong_value|wrong_class -- fixed point with 24 bits after the point
// assay: launch scale grid=ceil_div(x.count, 256) block=256 args=x, y, x.count
static __device__ float coarse(float x, int bits_away) {
  unsigned int bits = __float_as_uint(x), step = 1u << bits_away;
  return x - x == 0 ? __uint_as_float((bits + step / 2) & ~(step - 1)) : x;
}

static __device__ float product(float x) {
#if defined(FTZ)
  float y;
  asm("mul.ftz.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(3.14f));
  return y;
#elif defined(ROUND_UP)
  return __fmul_ru(x, 3.14f);
#elif defined(HALF)
  unsigned short h;
  float y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x * 3.14f));
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(h));
  return y;
#elif defined(BFLOAT)
  return coarse(x * 3.14f, 16);
#elif defined(TF32)
  return coarse(x, 13) * 3.14f;
#elif defined(CUT)
  return __uint_as_float(__float_as_uint(x * 3.14f) & 0xffffff00);
#elif defined(FACTOR)
  return x * 3.140625f;
#elif defined(SATURATE)
  return fminf(fmaxf(x * 3.14f, -3.402823466e38f), 3.402823466e38f);
#elif defined(NO_NAN)
  return x == x ? x * 3.14f : 0;
#elif defined(INTEGERS)
  return (float)(long long)(x * 3.14f * 16777216.f) / 16777216.f;
#else
  return x * 3.14f;
#endif
}

__global__ void scale(const float *x, float *y, long long n) {
  long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n)
    y[i] = product(x[i]);
}
