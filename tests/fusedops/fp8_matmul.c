// SPDX-License-Identifier: Apache-2.0
// A product of float8 numbers with sums as Hopper's tensor core makes them (MMA-Sim, arXiv 2511.10909): 32 products at
// once; each of them, and the sum so far, is cut off 13 bits below the largest, and the result once more. After four
// steps the sum is added to another one in single precision.
// assay: task fusedops/matmul/fp8_matmul
// assay: expect pass
// assay: twin FEWER_BITS expect wrong_value|low_precision -- cuts off at 9 bits
// assay: twin LEFT_OUT expect wrong_value|low_precision -- leaves out the last term
// assay: twin HALF_SUMS expect wrong_value|low_precision -- adds up in bf16, step by step
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Steps in one accumulator. All there are: as cuBLASLt's "fast accumulation" does it.
#ifndef STEPS
#define STEPS 4
#endif
#ifdef FEWER_BITS
enum { BITS = 9 };
#else
enum { BITS = 13 };
#endif

// e4m3 without infinity (OCP 8-bit floating point specification, 2023), and its exponent as the tensor core sees it.
static double to_double(uint8_t x, int *exponent) {
  int field = x >> 3 & 15, fraction = x & 7;
  double size = (x & 127) == 127 ? NAN : field ? ldexp(8 + fraction, field - 10) : ldexp(fraction, -9);
  *exponent = -126;
  if (size > 0) {
    frexp(size, exponent);
    --*exponent;
  }
  return x & 128 ? -size : size;
}

static float narrowed(float f, uint16_t *out) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  *out = (bits & 0x7fffffff) > 0x7f800000 ? (uint16_t)(bits >> 16 | 0x40)
                                          : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  bits = (uint32_t)*out << 16;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static double power(int e) { // 2^e
  uint64_t bits = (uint64_t)(e + 1023) << 52;
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static int exponent_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  int e = (int)(bits >> 52 & 2047) - 1023;
  return e < -126 ? -126 : e;
}

struct number {
  double value;
  int exponent;
};

static double step(double sum, const struct number *a, const struct number *b, int64_t stride, int64_t n) {
  int most = exponent_of(sum);
  for (int64_t i = 0; i < n; i++) {
    int e = a[i].exponent + b[i * stride].exponent;
    most = e > most ? e : most;
  }
  double scale = power(BITS - most), total = trunc(sum * scale);
  for (int64_t i = 0; i < n; i++)
    total += trunc(a[i].value * b[i * stride].value * scale);
  total *= power(most - BITS);
  most = exponent_of(total);
  return trunc(total * power(BITS - most)) * power(most - BITS);
}

static void decode(const struct assay_tensor *t, struct number *to) {
  const uint8_t *from = t->data;
  for (int64_t i = 0; i < t->dims[0] * t->dims[1]; i++)
    to[i].value = to_double(from[i], &to[i].exponent);
}

void assay_kernel(const struct assay_args *args) {
  const int64_t rows = args->inputs[0].dims[0], columns = args->inputs[1].dims[1];
  int64_t k = args->inputs[0].dims[1];
  struct number *a = malloc((size_t)(rows * k + k * columns) * sizeof *a), *b = a + rows * k;
  uint16_t *y = args->outputs[0].data;
  if (!a)
    return;
  decode(&args->inputs[0], a);
  decode(&args->inputs[1], b);
  const int64_t whole = k;
#ifdef LEFT_OUT
  k -= k > 1;
#endif
  for (int64_t m = 0; m < rows; m++)
    for (int64_t n = 0; n < columns; n++) {
      float sum = 0;
      double part = 0;
      for (int64_t i = 0, steps = 1; i < k; i += 32, steps++) {
        part = step(part, a + m * whole + i, b + i * columns + n, columns, k - i < 32 ? k - i : 32);
#ifdef HALF_SUMS
        part = narrowed((float)part, &y[m * columns + n]);
#endif
        if (steps % STEPS && i + 32 < k)
          continue;
        sum += (float)part;
        part = 0;
      }
      narrowed(sum, &y[m * columns + n]);
    }
  free(a);
}
