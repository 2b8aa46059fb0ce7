// SPDX-License-Identifier: Apache-2.0
// GridSample: every mode and padding against a plain formula, coordinates far away or not there, and errors.
#include "op_call.h"

static const char *const modes[] = {"nearest", "linear", "cubic"};
static const char *const paddings[] = {"zeros", "border", "reflection"};

// One dimension, pixel by pixel, as the specification puts it.
static double reflect(double x, double low, double high) {
  while (x < low || x > high)
    x = x < low ? 2 * low - x : 2 * high - x;
  return x;
}

static double pixel(const double *v, int n, double i, int padding, double low, double high) {
  if (padding == 0)
    return i >= 0 && i < n ? v[(int)i] : 0;
  i = padding == 1 ? i : reflect(i, low, high);
  return v[i < 0 ? 0 : i > n - 1 ? n - 1 : (int)i];
}

static double kernel(int mode, double x) {
  x = fabs(x);
  if (mode == 1)
    return x < 1 ? 1 - x : 0;
  return x < 1 ? 1.25 * x * x * x - 2.25 * x * x + 1 : x < 2 ? -0.75 * (x * x * x - 5 * x * x + 8 * x - 4) : 0;
}

static double expected(const double *v, int n, double g, int mode, int padding, bool align) {
  double low = align ? 0 : -0.5, high = align ? n - 1 : n - 0.5,
         x = align ? (g + 1) / 2 * (n - 1) : ((g + 1) * n - 1) / 2;
  if (mode == 0)
    x = rint(x);
  if (padding == 2)
    x = reflect(x, low, high);
  if (mode == 0)
    return pixel(v, n, x, padding, low, high);
  double sum = 0;
  for (int k = -1; k <= 2; k++)
    sum += kernel(mode, x - (floor(x) + k)) * pixel(v, n, floor(x) + k, padding, low, high);
  return sum;
}

static void begin(struct call *c, int mode, int padding, bool align) {
  call_begin(c, "GridSample", 20);
  call_attr_string(c, "mode", modes[mode]);
  call_attr_string(c, "padding_mode", paddings[padding]);
  call_attr_int(c, "align_corners", align);
}

static void near(double got, double want) {
  if (!(fabs(got - want) <= 1e-12 * (1 + fabs(want))))
    fail_msg("%.17g, want %.17g", got, want);
}

static void test_one_dimension(void **state) {
  (void)state;
  static const double image[] = {3, -1, 4, 1, -5}, at[] = {-1, -0.83, 0, 0.4, 1, -1.21, 1.3, -3.7, 9.1, 0.61};
  for (int kind = 0; kind < 18; kind++) {
    int mode = kind % 3, padding = kind / 3 % 3;
    struct call c;
    begin(&c, mode, padding, kind >= 9);
    call_f(&c, "1,1,5", image);
    call_f(&c, "1,10,1", at);
    call_run(&c, 1);
    call_check_shape(&c, 0, "1,1,10");
    for (int i = 0; i < 10; i++)
      near(c.out[0].f64[i], expected(image, 5, at[i], mode, padding, kind >= 9));
    call_end(&c);
  }
}

// Where the image is a product of one factor a dimension, so are its samples; and the grid's last coordinate is that of
// the first dimension.
static void test_products(void **state) {
  (void)state;
  static const double a[] = {2, -3, 5}, b[] = {1, 4}, d[] = {-1, 2, 0.5, 3};
  double image[48], grid[2 * 5 * 3];
  for (int i = 0; i < 24; i++) {
    image[i] = a[i / 8] * b[i / 4 % 2] * d[i % 4];
    image[24 + i] = -image[i];
  }
  for (int i = 0; i < 30; i++)
    grid[i] = fmod(i * 0.37, 2.6) - 1.3;
  for (int kind = 0; kind < 18; kind++) {
    int mode = kind % 3, padding = kind / 3 % 3;
    bool align = kind >= 9;
    struct call c;
    begin(&c, mode, padding, align);
    c.threads = 2;
    call_f(&c, "1,2,3,2,4", image);
    call_f(&c, "1,2,5,1,3", grid);
    call_run(&c, 1);
    call_check_shape(&c, 0, "1,2,2,5,1");
    for (int i = 0; i < 10; i++) {
      const double *g = grid + 3 * i;
      double want = expected(a, 3, g[2], mode, padding, align) * expected(b, 2, g[1], mode, padding, align) *
                    expected(d, 4, g[0], mode, padding, align);
      near(c.out[0].f64[i], want);
      near(c.out[0].f64[10 + i], -want);
    }
    call_end(&c);
  }
}

// Infinitely far, not a number, a single pixel, integers, and nothing.
static void test_extremes(void **state) {
  (void)state;
  struct call c;
  for (int kind = 0; kind < 18; kind++) {
    int mode = kind % 3, padding = kind / 3 % 3;
    begin(&c, mode, padding, kind >= 9);
    call_f(&c, "1,1,1", D(7));
    call_f(&c, "1,5,1", D(INFINITY, -INFINITY, 1e30, NAN, 0));
    call_run(&c, 1);
    for (int i = 0; i < 3; i++) {
      bool gone = padding == 0 && (kind < 9 || i < 2); // one pixel with aligned corners lies everywhere at 0
      if (kind < 9 || i == 2)
        near(c.out[0].f64[i], gone ? 0 : 7);
    }
    assert_true(mode == 0 ? c.out[0].f64[3] == 7 : isnan(c.out[0].f64[3]));
    near(c.out[0].f64[4], 7);
    call_end(&c);
  }
  begin(&c, 1, 1, true);
  call_input(&c, DTYPE_INT32, "1,1,3", I(10, 21, -5));
  call_f(&c, "1,3,1", D(-0.75, 0.25, 1));
  call_run(&c, 1);
  call_check_i(&c, 0, "1,1,3", I(12, 14, -5)); // towards zero
  call_end(&c);
  begin(&c, 1, 0, false);
  call_f(&c, "2,0,3", D(0));
  call_f(&c, "2,4,1", D(0, 0, 0, 0, 0, 0, 0, 0));
  call_run(&c, 1);
  call_check_shape(&c, 0, "2,0,4");
  call_end(&c);
}

static void test_errors(void **state) {
  (void)state;
  struct call c;
  call_begin(&c, "GridSample", 16);
  call_attr_string(&c, "mode", "linear"); // bilinear, then
  call_f(&c, "1,1,1,1", D(1));
  call_f(&c, "1,1,1,2", D(0, 0));
  call_fails(&c, 1, ASSAY_ERR_INVALID, "mode is \"linear\"");
  call_begin(&c, "GridSample", 16);
  call_f(&c, "1,1,1", D(1));
  call_f(&c, "1,1,1", D(0));
  call_fails(&c, 1, ASSAY_ERR_INVALID, "does not fit");
  call_begin(&c, "GridSample", 20);
  call_f(&c, "1,1,1,1", D(1));
  call_f(&c, "1,1,1,3", D(0, 0, 0));
  call_fails(&c, 1, ASSAY_ERR_INVALID, "does not fit");
  call_begin(&c, "GridSample", 20);
  call_f(&c, "1,1,0", D(1));
  call_f(&c, "1,1,1", D(0));
  call_fails(&c, 1, ASSAY_ERR_INVALID, "empty");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_dimension),
      cmocka_unit_test(test_products),
      cmocka_unit_test(test_extremes),
      cmocka_unit_test(test_errors),
  };
  return cmocka_run_group_tests_name("GridSample", tests, NULL, NULL);
}
