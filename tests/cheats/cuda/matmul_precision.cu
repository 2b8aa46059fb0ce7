// Matrix products of fewer bits, or of fewer products, than single precision has (catalogue 4, 7, 81, 82). With the
// usual tolerance of 1e-2 most of these pass elsewhere.
// assay: task kernelbench/1/2
// assay: expect pass
// assay: twin TF32 expect low_precision|wrong_value -- operands rounded to 11 bits, as tensor cores do by default
// assay: twin FP16 expect low_precision|wrong_value|wrong_class -- operands in half precision
// assay: twin BF16 expect low_precision|wrong_value -- operands in bfloat16
// assay: twin BF16_TWO expect low_precision|wrong_value -- as the sum of two bfloat16: 16 bits
// assay: twin ONE_SIDE expect low_precision|wrong_value -- one operand in tf32, the other exact
// assay: twin COARSE_SUM expect low_precision|wrong_value -- the running sum is kept in 16 bits
// assay: twin COARSE_OUTPUT expect low_precision|wrong_value -- the result is rounded to 16 bits
// assay: twin SKIP_SMALL expect wrong_value|low_precision -- products with small factors are left out
// assay: twin HALF_SUM expect wrong_value -- twice the sum of every second product
// assay: twin LAST_TERM expect wrong_value -- the last product is forgotten
// assay: twin COMPENSATED expect pass -- better than asked for
// assay: launch product grid=ceil_div(N, 32),ceil_div(M, 8) block=32,8 args=a, b, y, M, N, K
static __device__ float coarse(float x, int bits_away) {
  unsigned int bits = __float_as_uint(x), step = 1u << bits_away;
  return x - x == 0 ? __uint_as_float((bits + step / 2) & ~(step - 1)) : x;
}

static __device__ float operand(float x) {
#if defined(TF32)
  return coarse(x, 13);
#elif defined(FP16)
  unsigned short h;
  float y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(h));
  return y;
#elif defined(BF16)
  return coarse(x, 16);
#elif defined(BF16_TWO)
  float high = coarse(x, 16);
  return high + coarse(x - high, 16);
#elif defined(SKIP_SMALL)
  return fabsf(x) < 0.01f ? 0 : x;
#else
  return x;
#endif
}

static __device__ float other(float x) {
#ifdef ONE_SIDE
  return coarse(x, 13);
#else
  return operand(x);
#endif
}

__global__ void product(const float *a, const float *b, float *y, int m, int n, int k) {
  int i = blockIdx.y * 8 + threadIdx.y, j = blockIdx.x * 32 + threadIdx.x;
  float s = 0, lost = 0;
  if (i >= m || j >= n)
    return;
#ifdef LAST_TERM
  if (k > 1)
    k--;
  const int stride = k + 1 > 1 ? k + 1 : 1;
#else
  const int stride = k;
#endif
#ifdef HALF_SUM
  const int step = k > 1 ? 2 : 1;
#else
  const int step = 1;
#endif
  for (int l = 0; l < k; l += step) {
    float p = operand(a[(long long)i * stride + l]), q = other(b[(long long)l * n + j]);
#if defined(COMPENSATED)
    float more = fmaf(p, q, -lost), t = s + more;
    lost = t - t == 0 ? (t - s) - more : 0;
    s = t;
#elif defined(COARSE_SUM)
    s = coarse(fmaf(p, q, s), 8);
#else
    s = fmaf(p, q, s);
#endif
  }
#ifdef COARSE_OUTPUT
  s = coarse(s, 8);
#endif
  (void)lost;
  y[(long long)i * n + j] = s * (float)step;
}
