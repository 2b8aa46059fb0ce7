// Arithmetic that is faster and not what was asked for (catalogue 20 to 22, 81, 82).
// assay: task kernelbench/1/5
// assay: expect pass
// assay: twin FTZ_CONSTRUCTOR expect pass -- flush-to-zero left on by a constructor: the runner resets it
// assay: twin FTZ_AFTER expect pass -- flush-to-zero left on by the kernel for later calls: likewise
// assay: twin FTZ expect wrong_value -- flush-to-zero inside the kernel
// assay: twin ROUND_UP expect pass -- rounds up: half a unit in the last place more, which the contract allows
// assay: twin ROUND_LEFT expect pass -- another rounding mode left on for later calls
// assay: twin X87 expect pass -- short mantissas left on for the x87 unit
// assay: twin UNMASKED expect pass -- floating-point exceptions left unmasked by a constructor
// assay: twin FAST_MATH expect pass -- #pragma GCC optimize("fast-math"): no reason to fail in a product
// assay: twin HALF expect low_precision|wrong_value|wrong_class -- computes in half precision
// assay: twin BFLOAT expect low_precision|wrong_value -- rounds the result to bfloat16
// assay: twin TF32 expect low_precision|wrong_value -- rounds the input to 11 bits
// assay: twin FACTOR expect low_precision|wrong_value -- 3.140625 for 3.14, which has few bits
// assay: twin SATURATE expect wrong_class|wrong_value -- the largest finite number for infinity
// assay: twin NO_NAN expect wrong_class -- 0 for NaN
#ifdef FAST_MATH
#pragma GCC optimize("fast-math")
#endif
#include <assay/candidate.h>
#include <fenv.h>
#include <immintrin.h>
#include <math.h>
#include <string.h>

#if defined(FTZ_CONSTRUCTOR)
__attribute__((constructor)) static void at_load(void) {
  _mm_setcsr(_mm_getcsr() | 0x8040);
}
#elif defined(UNMASKED)
__attribute__((constructor)) static void at_load(void) {
  _mm_setcsr(_mm_getcsr() & ~0x1f80u);
}
#elif defined(X87)
__attribute__((constructor)) static void at_load(void) {
  unsigned short word = 0x0c7f;
  __asm__ volatile("fldcw %0" : : "m"(word));
}
#endif

static float coarse(float x, uint32_t bits_away) {
  uint32_t bits, step = 1u << bits_away;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + step / 2) & ~(step - 1);
  memcpy(&x, &bits, sizeof x);
  return x;
}

static float product(float x) {
#if defined(HALF)
  return _cvtsh_ss(_cvtss_sh(_cvtsh_ss(_cvtss_sh(x, 0)) * 3.14f, 0));
#elif defined(BFLOAT)
  return coarse(x * 3.14f, 16);
#elif defined(TF32)
  return coarse(x, 13) * 3.14f;
#elif defined(FACTOR)
  return x * 3.140625f;
#elif defined(SATURATE)
  float y = x * 3.14f;
  return y > 3.402823466e38f ? 3.402823466e38f : y < -3.402823466e38f ? -3.402823466e38f : y;
#elif defined(NO_NAN)
  float y = x * 3.14f;
  return y == y ? y : 0;
#else
  return x * 3.14f;
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  (void)coarse;
#if defined(FTZ)
  _mm_setcsr(_mm_getcsr() | 0x8040);
#elif defined(ROUND_UP)
  _mm_setcsr((_mm_getcsr() & ~0x6000u) | 0x4000);
#endif
  for (int64_t i = 0; i < n; i++)
    y[i] = product(x[i]);
#if defined(FTZ_AFTER)
  _mm_setcsr(_mm_getcsr() | 0x8040);
#elif defined(ROUND_LEFT)
  fesetround(FE_TOWARDZERO);
#endif
}
