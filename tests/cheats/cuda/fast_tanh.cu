// The hyperbolic tangent by quicker ways (catalogue 81, 82).
// assay: task kernelbench/1/22
// assay: expect pass
// assay: twin APPROX expect low_precision|wrong_value -- the hardware's instruction, 11 bits
// assay: twin APPROX_HALF expect low_precision|wrong_value|wrong_class -- the same in half precision
// assay: twin TWO_EXP expect wrong_value|low_precision -- from exp(2x) - 1, which cancels near zero
// assay: twin RATIONAL expect wrong_value|low_precision -- the short fraction that neural networks like
// assay: twin CLAMPED expect wrong_value|low_precision -- x where x is small: up to 1e-2
// assay: launch kernel grid=ceil_div(x.count, 256) block=256 args=x, y, x.count
static __device__ float hyperbolic(float x) {
#if defined(APPROX)
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#elif defined(APPROX_HALF)
  unsigned short h;
  float y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  asm("tanh.approx.f16 %0, %0;" : "+h"(h));
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(h));
  return y;
#elif defined(TWO_EXP)
  return 1 - 2 / (__expf(2 * x) + 1);
#elif defined(RATIONAL)
  float y = fminf(fmaxf(x, -3), 3);
  return y * (27 + y * y) / (27 + 9 * y * y);
#elif defined(CLAMPED)
  return fabsf(x) < 0.01f ? x : tanhf(x);
#else
  return tanhf(x);
#endif
}

__global__ void kernel(const float *x, float *y, long long n) {
  long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n)
    y[i] = hyperbolic(x[i]);
}
