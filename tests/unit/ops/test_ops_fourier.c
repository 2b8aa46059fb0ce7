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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_definition), cmocka_unit_test(test_length)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
