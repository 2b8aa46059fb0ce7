// SPDX-License-Identifier: Apache-2.0
// Functions of other libraries, in the place of the C library's, for bench/honest.py. A macro FUNCTIONS_... says whose:
//
//   CEPHES   Cephes: polynomials after a reduction by ln 2 in two parts
//   XLA      XLA and Eigen: rational functions for tanh and erf; e^x - 1 and log(1 + x) as Kahan has them
//   FAST     a GPU's fast e^x: a power of two of a rounded product, off by up to two units
//   STATED   the C library's results, moved by up to as many units as CUDA's guide states for its functions
#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float polynomial(float x, const float *c, int n) {
  float y = c[0];
  for (int i = 1; i < n; i++)
    y = fmaf(y, x, c[i]);
  return y;
}
#define POLYNOMIAL(x, ...)                                                                                             \
  polynomial(x, (const float[]){__VA_ARGS__}, (int)(sizeof(float[]){__VA_ARGS__} / sizeof(float)))

static inline uint32_t bits_of(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

// ---- Cephes

static inline float cephes_exp(float x) {
  if (isnan(x) || x > 88.72283905f)
    return x + INFINITY;
  if (x < -103.972f)
    return 0;
  float n = floorf(x * 1.44269504f + 0.5f);
  float r = x - n * 0.693359375f - n * -2.12194440e-4f;
  float p = POLYNOMIAL(r, 1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f,
                       5.0000001201e-1f);
  return ldexpf(p * r * r + r + 1, (int)n);
}

static inline float cephes_log(float x) {
  if (!(x > 0) || isinf(x))
    return logf(x);
  int e;
  float m = frexpf(x, &e);
  if (m < 0.707106781f) {
    m *= 2;
    e--;
  }
  m -= 1;
  float z = m * m;
  float y = m * z *
            POLYNOMIAL(m, 7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f,
                       -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f);
  y += (float)e * -2.12194440e-4f;
  y -= 0.5f * z;
  return m + y + (float)e * 0.693359375f;
}

static inline float cephes_tanh(float x) {
  float a = fabsf(x), s = x * x;
  if (!(a < 0.625f))
    return copysignf(1 - 2 / (cephes_exp(2 * a) + 1), x);
  return x + x * s *
                 POLYNOMIAL(s, -5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f, 1.33314422036e-1f,
                            -3.33332819422e-1f);
}

// ---- XLA and Eigen

static inline float xla_tanh(float x) {
  const float end = 7.90531110763549805f; // tanh is 1 beyond it, to a unit
  if (isnan(x) || fabsf(x) < 0.0004f)
    return x;
  float v = fminf(fmaxf(x, -end), end), s = v * v;
  float over = POLYNOMIAL(s, -2.76076847742355e-16f, 2.00018790482477e-13f, -8.60467152213735e-11f,
                          5.12229709037114e-08f, 1.48572235717979e-05f, 6.37261928875436e-04f, 4.89352455891786e-03f);
  float under =
      POLYNOMIAL(s, 1.19825839466702e-06f, 1.18534705686654e-04f, 2.26843463243900e-03f, 4.89352518554385e-03f);
  return v * over / under;
}

static inline float xla_erf(float x) {
  const float end = 3.832506856900711f; // erf is 1 beyond it
  if (isnan(x))
    return x;
  float v = fminf(fmaxf(x, -end), end), s = v * v;
  float over =
      POLYNOMIAL(s, -2.72614225801306e-10f, 2.77068142495902e-08f, -2.10102402082508e-06f, -5.69250639462346e-05f,
                 -7.34990630326855e-04f, -2.95459980854025e-03f, -1.60960333262415e-02f);
  float under = POLYNOMIAL(s, -1.45660718464996e-05f, -2.13374055278905e-04f, -1.68282697438203e-03f,
                           -7.37332916720468e-03f, -1.42647390514189e-02f);
  return v * over / under;
}

// e^x - 1 and log(1 + x) without functions of their own (W. Kahan): what 1 + x lost is put back.
static inline float kahan_expm1(float x) {
  float u = expf(x), below = u - 1;
  if (u == 1)
    return x;
  return below == -1 || isinf(u) || isnan(u) ? below : below * x / logf(u);
}

static inline float kahan_log1p(float x) {
  volatile float u = 1 + x;
  return u == 1 ? x : isinf(u) ? u : logf(u) * x / (u - 1);
}

// ---- moved results

// By `most` units at most, the less the more often, up or down as the bits of the argument fall.
static inline float moved(float y, float x, int most) {
  if (isnan(y) || isinf(y) || y == 0)
    return y;
  uint32_t mixed = (bits_of(x) ^ 0x9e3779b9u) * 0x85ebca6bu;
  mixed = (mixed ^ mixed >> 15) * 0xc2b2ae35u;
  mixed ^= mixed >> 16;
  float to = mixed & 1 ? INFINITY : -INFINITY;
  for (int i = 0; i < most && mixed >> (1 + i) & 1; i++)
    y = nextafterf(y, to);
  return y;
}

// The same of a function that is never beyond 1.
static inline float moved_within_1(float y, float x, int most) {
  y = moved(y, x, most);
  return y > 1 ? 1 : y < -1 ? -1 : y;
}

// A GPU's fast e^x: the argument of ex2.approx is a product, rounded once.
static inline float fast_exp(float x) {
  return moved(exp2f(x * 1.44269504f), x, 2);
}

static inline float stated_exp(float x) {
  return moved(expf(x), x, 1);
}
static inline float stated_exp2(float x) {
  return moved(exp2f(x), x, 2);
}
static inline float stated_log(float x) {
  return moved(logf(x), x, 1);
}
static inline float stated_log2(float x) {
  return moved(log2f(x), x, 1);
}
static inline float stated_tanh(float x) {
  return moved_within_1(tanhf(x), x, 2);
}
static inline float stated_erf(float x) {
  return moved_within_1(erff(x), x, 2);
}
// Libraries make it 2 - erfc(-x) below zero, which is never beyond 2 and exactly 2 from -4 on.
static inline float stated_erfc(float x) {
  float y = erfcf(x), to = moved(y, x, 4);
  return y == 2 || to > 2 ? 2 : to < 0 ? 0 : to;
}
static inline float stated_expm1(float x) {
  float y = moved(expm1f(x), x, 1);
  return y < -1 ? -1 : y;
}
static inline float stated_log1p(float x) {
  return moved(log1pf(x), x, 1);
}

#if defined FUNCTIONS_CEPHES
#define expf cephes_exp
#define logf cephes_log
#define tanhf cephes_tanh
#elif defined FUNCTIONS_XLA
#define tanhf xla_tanh
#define erff xla_erf
#define expm1f kahan_expm1
#define log1pf kahan_log1p
#elif defined FUNCTIONS_FAST
#define expf fast_exp
#elif defined FUNCTIONS_STATED
#define expf stated_exp
#define exp2f stated_exp2
#define logf stated_log
#define log2f stated_log2
#define tanhf stated_tanh
#define erff stated_erf
#define erfcf stated_erfc
#define expm1f stated_expm1
#define log1pf stated_log1p
#endif
