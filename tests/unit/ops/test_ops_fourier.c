// SPDX-License-Identifier: Apache-2.0
// Fourier transforms against their definition, and there and back.
#include "op_case.h"

// Coefficient k of n numbers, `step` apart, of which `length` are there.
static void direct(const double *x, int parts, int64_t step, int64_t length, int64_t n, int64_t k, double sign,
                   double *out) {
  long double re = 0, im = 0;
  for (int64_t i = 0; i < n && i < length; i++) {
    long double angle = (long double)sign * 2 * acosl(-1) * (long double)(i * k % n) / (long double)n;
    long double a = x[i * step], b = parts == 2 ? x[i * step + 1] : 0;
    re += a * cosl(angle) - b * sinl(angle);
    im += a * sinl(angle) + b * cosl(angle);
  }
  out[0] = (double)re;
  out[1] = (double)im;
}

static void test_definition(void **state) {
  (void)state;
  static const int64_t extents[] = {1, 2, 3, 7, 12, 30, 64, 77};
  for (size_t e = 0; e < sizeof extents / sizeof *extents; e++)
    for (int form = 0; form < 3; form++) { // complex, real, real with one side
      int64_t n = extents[e], rows = 2, inner = 3, kept = form == 2 ? n / 2 + 1 : n;
      int parts = form ? 1 : 2;
      struct op_case c;
      case_begin(&c, "", "DFT", 17);
      const double *x = case_float_input(&c, e, -1, 1, DIMS(rows, n, inner, parts))->f64;
      case_int(&c, "onesided", form == 2);
      case_run(&c, case_exact(), 2);
      assert_int_equal(c.out[0].shape.dims[1], kept);
      for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < inner; i++)
          for (int64_t k = 0; k < kept; k++) {
            double want[2];
            direct(x + (r * n * inner + i) * parts, parts, inner * parts, n, n, k, -1, want);
            assert_close(c.out[0].f64 + ((r * kept + k) * inner + i) * 2, want, 2, 1e-12);
          }
      case_check_threads(&c);
      case_end(&c);
    }
}

// Cut and filled with zeros; the inverse.
static void test_length(void **state) {
  (void)state;
  for (int64_t n = 3; n <= 9; n += 6)
    for (int inverse = 0; inverse < 2; inverse++) {
      struct op_case c;
      case_begin(&c, "", "DFT", 20);
      const double *x = case_float_input(&c, 3, -1, 1, DIMS(5, 2))->f64;
      case_input(&c, DTYPE_INT64, DIMS(1))->i64[0] = n;
      case_input(&c, DTYPE_INT64, DIMS(1))->i64[0] = 0;
      case_int(&c, "inverse", inverse);
      case_run(&c, case_exact(), 1);
      for (int64_t k = 0; k < n; k++) {
        double want[2];
        direct(x, 2, 2, 5, n, k, inverse ? 1 : -1, want);
        want[0] /= inverse ? (double)n : 1;
        want[1] /= inverse ? (double)n : 1;
        assert_close(c.out[0].f64 + 2 * k, want, 2, 1e-13);
      }
      case_end(&c);
    }
}

// A root of unity whose angle is in single precision, at most half a turn.
static void root(int64_t k, int64_t n, float *c, float *s) {
  k %= n;
  float angle = -6.283185307179586476F * (float)(k > n / 2 ? k - n : k) / (float)n;
  *c = cosf(angle);
  *s = sinf(angle);
}

// Side numbers, `step` apart, by the definition.
enum { SIDE = 128, WHOLE = SIDE * SIDE };
static void by_definition(const float *x, int64_t step, float *y) {
  static float roots[2 * SIDE];
  for (int64_t k = 0; k < SIDE; k++)
    root(k, SIDE, &roots[2 * k], &roots[2 * k + 1]);
  for (int64_t k = 0; k < SIDE; k++) {
    float re = 0, im = 0;
    for (int64_t i = 0; i < SIDE; i++) {
      const float *at = &x[2 * i * step], *w = &roots[2 * (i * k % SIDE)];
      re += at[0] * w[0] - at[1] * w[1];
      im += at[0] * w[1] + at[1] * w[0];
    }
    y[2 * k] = re;
    y[2 * k + 1] = im;
  }
}

// Columns, then rows, of a square.
static void by_columns(const float *x, float *y) {
  static float table[2 * WHOLE];
  float line[2 * SIDE];
  for (int64_t j = 0; j < SIDE; j++) {
    by_definition(x + 2 * j, SIDE, line);
    for (int64_t k = 0; k < SIDE; k++) {
      float c, s, re = line[2 * k], im = line[2 * k + 1];
      root(j * k, WHOLE, &c, &s);
      table[2 * (k * SIDE + j)] = re * c - im * s;
      table[2 * (k * SIDE + j) + 1] = re * s + im * c;
    }
  }
  for (int64_t k = 0; k < SIDE; k++) {
    by_definition(table + 2 * k * SIDE, 1, line);
    for (int64_t j = 0; j < SIDE; j++) {
      y[2 * (j * SIDE + k)] = line[2 * j];
      y[2 * (j * SIDE + k) + 1] = line[2 * j + 1];
    }
  }
}

// An honest transform in single precision, of numbers alike and of some where one outweighs all others: its errors are
// then those of a few roots, which all coefficients share.
static void test_honest(void **state) {
  (void)state;
  static float x[2 * WHOLE], y[2 * WHOLE];
  for (int spike = -1; spike < 24; spike++) {
    struct op_case c;
    double ratio;
    case_begin(&c, "", "DFT", 17);
    case_int(&c, "axis", 0);
    struct array *in = case_float_input(&c, (uint64_t)spike + 2, -1, 1, DIMS(WHOLE, 2));
    for (int i = 0; i < 2 && spike >= 0; i++)
      in->f64[2 * (spike * 683 % WHOLE) + i] *= 0x1p20;
    for (int i = 0; i < 2 * WHOLE; i++)
      x[i] = (float)in->f64[i];
    by_columns(x, y);
    double z = case_honest_z(&c, 0, y, &ratio);
    if (z >= 10 || 1 / ratio > 1.4 || ratio > 20)
      fail_msg("spike %d: z %g, error over spread %g", spike, z, 1 / ratio);
    case_end(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_definition), cmocka_unit_test(test_length),
                                     cmocka_unit_test(test_honest)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
