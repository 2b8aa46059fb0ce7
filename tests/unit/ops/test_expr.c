// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=base_realloc
// The expression language: parsing, evaluation in double, in a contract, and over integers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "ops/expr.h"

static int fail_at = -1, allocations;

void *__real_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n) {
  return allocations++ == fail_at ? NULL : __real_base_realloc(p, n);
}

static const struct arith exact = {.exact = true};
static const struct arith fp32 = {
    .bits = 24, .min_exponent = -126, .max = 0x1.fffffep127, .product_bits = 53, .block = 1};

static double eval(const char *text, const struct arith *a, double x, double y, double z) {
  struct arena arena = {0};
  struct assay_error err = {0};
  const struct expr *e = NULL;
  if (expr_parse(text, (const char *const[]){"alpha", "min"}, 2, &arena, &e, &err) != ASSAY_OK)
    fail_msg("%s: %s", text, err.message);
  struct noise n = noise_at(1, 1);
  double out;
  struct expr_block b = {.n = 1, .in = {&x, &y, &z}, .params = (const double[]){0.25, 7}};
  expr_eval(e, a, &n, &b, &out);
  arena_release(&arena);
  return out;
}

static void check(const char *text, double want) {
  double got = eval(text, &exact, 3, -2, 0.5);
  if (!(got == want || (isnan(got) && isnan(want))))
    fail_msg("%s: got %.17g, want %.17g", text, got, want);
}

static void test_precedence(void **state) {
  (void)state;
  double x = 3, y = -2, z = 0.5;
  check("x", x);
  check("  x+y*z ", x + y * z);
  check("(x+y)*z", (x + y) * z);
  check("x - y - z", x - y - z);
  check("x / y / z", x / y / z);
  check("x / y * z", x / y * z);
  check("-x * y", -x * y);
  check("--x", x);
  check("- -2", 2);
  check("x - -y", x - -y);
  check("1 < 2 == 1", 1);
  check("x <= 3 && y >= -2", 1);
  check("x < 3 || y > -2", 0);
  check("0 && 0 || 1", 1);
  check("1 || 0 && 0", 1);
  check("!x", 0);
  check("!!x", 1);
  check("x != 3", 0);
  check("!(x == 3)", 0);
  check("x > 0 ? y : z", y);
  check("x < 0 ? y : z", z);
  check("x < 0 ? 1 : y < 0 ? 2 : 3", 2);
  check("x > 0 ? y < 0 ? 1 : 2 : 3", 1);
  check("1e3 + .5 + 2.5e-1", 1000.75);
  check("alpha * x", 0.75);
  check("min(x, min)", 3); // an attribute may have a function's name
  check("(x ? x ? 1 : 2 : 3) + (alpha ? 4 : 5)", 5);
  check("alpha - alpha ? 1 : exp(0)", 1);
}

static void test_functions(void **state) {
  (void)state;
  check("abs(y)", 2);
  check("neg(x)", -3);
  check("sign(y)", -1);
  check("sign(0)", 0);
  check("sqrt(x)", sqrt(3));
  check("exp(z)", exp(0.5));
  check("expm1(z)", expm1(0.5));
  check("log(x)", log(3));
  check("log1p(z)", log1p(0.5));
  check("sin(x) + cos(x) + tan(x)", sin(3) + cos(3) + tan(3));
  check("asin(z) + acos(z) + atan(x)", asin(0.5) + acos(0.5) + atan(3));
  check("sinh(z) + cosh(z) + tanh(z)", sinh(0.5) + cosh(0.5) + tanh(0.5));
  check("asinh(x) + acosh(x) + atanh(z)", asinh(3) + acosh(3) + atanh(0.5));
  check("erf(z)", erf(0.5));
  check("erfc(z)", erfc(0.5));
  check("floor(-2.5) + ceil(1.2)", -1);
  check("round(0.5) + round(1.5) + round(-2.5)", 0);
  check("recip(y)", -0.5);
  check("isnan(x) + isnan(x / 0 * 0)", 1);
  check("isinf(x / 0)", 1);
  check("isinf(x)", 0);
  check("pow(x, y)", pow(3, -2));
  check("fmod(y, 1.5)", -0.5);
  check("fma(x, y, z)", -5.5);
  check("min(x, y) + max(x, y)", 1);
}

static void test_nan(void **state) {
  (void)state;
  const char *const nan_results[] = {"min(x, y)", "min(y, x)", "max(x, y)", "max(y, x)", "sign(x)", "abs(x)", "x + y"};
  for (size_t i = 0; i < sizeof nan_results / sizeof nan_results[0]; i++)
    assert_true(isnan(eval(nan_results[i], &exact, NAN, 1, 0)));
  const char *const zero_results[] = {"x < y", "x <= y", "x > y", "x >= y", "x == x", "y < x"};
  for (size_t i = 0; i < sizeof zero_results / sizeof zero_results[0]; i++)
    assert_true(eval(zero_results[i], &exact, NAN, 1, 0) == 0);
  assert_true(eval("x != x", &exact, NAN, 1, 0) == 1);
}

static void test_syntax_errors(void **state) {
  (void)state;
  static const struct {
    const char *text, *column;
  } bad[] = {
      {"", "column 1"},         {"x +", "column 4"},   {"(x", "column 3"},     {"x)", "column 2"},
      {"foo(x)", "column 1"},   {"1 + w", "column 5"}, {"min(x)", "column 6"}, {"exp(x, y)", "column 6"},
      {"x ? y", "column 6"},    {"1.5.2", "column 4"}, {"x $ y", "column 3"},  {"x y", "column 3"},
      {"fma(x,y)", "column 8"}, {"x = y", "column 3"}, {".", "column 1"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct arena arena = {0};
    struct assay_error err = {0};
    const struct expr *e;
    if (expr_parse(bad[i].text, NULL, 0, &arena, &e, &err) != ASSAY_ERR_SYNTAX)
      fail_msg("\"%s\" was accepted", bad[i].text);
    if (!strstr(err.message, bad[i].column))
      fail_msg("\"%s\": %s", bad[i].text, err.message);
    arena_release(&arena);
  }
}

static enum assay_status parse_status(const char *text) {
  struct arena arena = {0};
  struct assay_error err = {0};
  const struct expr *e;
  enum assay_status status = expr_parse(text, NULL, 0, &arena, &e, &err);
  arena_release(&arena);
  return status;
}

static void test_limits(void **state) {
  (void)state;
  char text[8192];
  memset(text, '(', 5000);
  strcpy(text + 5000, "x");
  assert_int_equal(parse_status(text), ASSAY_ERR_LIMIT);
  memset(text, '-', 5000);
  assert_int_equal(parse_status(text), ASSAY_ERR_LIMIT);
  strcpy(text, "x");
  for (int i = 0; i < 200; i++)
    strcat(text, "+x");
  assert_int_equal(parse_status(text), ASSAY_ERR_LIMIT);
  strcpy(text, "x");
  for (int i = 0; i < 100; i++)
    sprintf(text + strlen(text), "+%d", i);
  assert_int_equal(parse_status(text), ASSAY_ERR_LIMIT); // constants
  text[0] = 0;
  for (int i = 0; i < 20; i++)
    strcat(text, "(x*x)+(");
  strcat(text, "x*x");
  for (int i = 0; i < 20; i++)
    strcat(text, ")");
  assert_int_equal(parse_status(text), ASSAY_ERR_LIMIT); // temporaries
}

static void test_blocks_and_aliasing(void **state) {
  (void)state;
  struct arena arena = {0};
  struct assay_error err = {0};
  const struct expr *e;
  assert_int_equal(expr_parse("x < 0 ? 2 * x : x + y", NULL, 0, &arena, &e, &err), ASSAY_OK);
  double x[EXPR_BLOCK], y[EXPR_BLOCK], out[EXPR_BLOCK];
  for (int i = 0; i < EXPR_BLOCK; i++) {
    x[i] = i - 100;
    y[i] = 0.5 * i;
  }
  struct noise n = noise_at(0, 0);
  struct expr_block b = {.n = EXPR_BLOCK, .in = {x, y}};
  expr_eval(e, &exact, &n, &b, out);
  expr_eval(e, &exact, &n, &b, x); // in place
  for (int i = 0; i < EXPR_BLOCK; i++) {
    double v = i - 100;
    assert_true(out[i] == (v < 0 ? 2 * v : v + 0.5 * i));
    assert_true(x[i] == out[i]);
  }
  assert_int_equal(expr_flops(e), 4);
  arena_release(&arena);
}

// Each operation rounds once: the spread of a contract pass is what that predicts.
static void test_contract_spread(void **state) {
  (void)state;
  struct arena arena = {0};
  struct assay_error err = {0};
  static const struct {
    const char *text;
    double low, high; // standard deviation in units of 2^-24 |result|
  } cases[] = {
      {"max(x, y)", 0, 0},
      {"x < y ? x : y", 0, 0},
      {"-abs(x)", 0, 0},
      {"floor(x)", 0, 0},
      {"x * y", 0.2, 1.2},
      {"x + y", 0.2, 1.2},
      {"x / y", 0.2, 1.2},
      {"x * y + z", 0.3, 2},
      {"exp(x)", 1, 4},
      {"x * 1", 0, 0},
      {"(x + 1000) - 1000", 100, 900}, // cancellation
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const struct expr *e;
    assert_int_equal(expr_parse(cases[i].text, NULL, 0, &arena, &e, &err), ASSAY_OK);
    double x[EXPR_BLOCK], y[EXPR_BLOCK], z[EXPR_BLOCK], out[EXPR_BLOCK], truth[EXPR_BLOCK], sum2 = 0;
    struct noise n = noise_at(5, i);
    for (int k = 0; k < EXPR_BLOCK; k++) {
      x[k] = (double)(float)(0.7 + rng_unit(noise_next(&n)));
      y[k] = (double)(float)(0.7 + rng_unit(noise_next(&n)));
      z[k] = (double)(float)(0.7 + rng_unit(noise_next(&n)));
    }
    struct expr_block b = {.n = EXPR_BLOCK, .in = {x, y, z}};
    expr_eval(e, &exact, &n, &b, truth);
    expr_eval(e, &fp32, &n, &b, out);
    for (int k = 0; k < EXPR_BLOCK; k++) {
      // Library functions leave their error between the format's numbers.
      assert_true(strchr(cases[i].text, '(') || out[k] == (double)(float)out[k]);
      double off = truth[k] == 0 ? 0 : (out[k] - truth[k]) / truth[k] * 0x1p24;
      sum2 += off * off / EXPR_BLOCK;
    }
    if (!(sqrt(sum2) >= cases[i].low && sqrt(sum2) <= cases[i].high))
      fail_msg("%s: spread %.2f", cases[i].text, sqrt(sum2));
  }
  arena_release(&arena);
}

static void test_bounded_functions_stay_bounded(void **state) {
  (void)state;
  for (int i = 0; i < 200; i++) {
    assert_true(eval("tanh(x)", &fp32, 9 + i * 0.01, 0, 0) <= 1);
    assert_true(eval("erf(x)", &fp32, 4 + i * 0.01, 0, 0) <= 1);
    assert_true(eval("sin(x)", &fp32, 1.5707963, 0, 0) <= 1);
  }
}

// The constant 0.1 is not a float; a contract's implementation has the nearest one.
static void test_contract_constants(void **state) {
  (void)state;
  assert_true(eval("0.1", &fp32, 0, 0, 0) == (double)0.1f);
  assert_true(eval("0.1", &exact, 0, 0, 0) == 0.1);
}

static int64_t eval_int(const char *text, bool is_unsigned, int64_t x, int64_t y) {
  struct arena arena = {0};
  struct assay_error err = {0};
  const struct expr *e = NULL;
  if (expr_parse(text, (const char *const[]){"k"}, 1, &arena, &e, &err) != ASSAY_OK)
    fail_msg("%s: %s", text, err.message);
  assert_true(expr_has_integers(e));
  int64_t out;
  struct expr_int_block b = {.n = 1, .in = {&x, &y}, .params = (const double[]){4}};
  expr_eval_int(e, is_unsigned, &b, &out);
  arena_release(&arena);
  return out;
}

static void test_integers(void **state) {
  (void)state;
  assert_int_equal(eval_int("x + y", false, INT64_MAX, 1), INT64_MIN);
  assert_int_equal(eval_int("x * y", false, 1 << 20, 3), 3 << 20);
  assert_int_equal(eval_int("x / y", false, -7, 2), -3);
  assert_int_equal(eval_int("x / y", false, 7, 0), 0);
  assert_int_equal(eval_int("x / y", false, INT64_MIN, -1), INT64_MIN);
  assert_int_equal(eval_int("x / y", true, -1, 2), INT64_MAX);
  assert_int_equal(eval_int("x < y", false, -1, 2), 1);
  assert_int_equal(eval_int("x < y", true, -1, 2), 0);
  assert_int_equal(eval_int("max(x, y)", true, -1, 2), -1);
  assert_int_equal(eval_int("fmod(x, y)", false, -7, 3), -1);
  assert_int_equal(eval_int("fmod(x, y)", false, INT64_MIN, -1), 0);
  assert_int_equal(eval_int("pow(x, y)", false, -3, 3), -27);
  assert_int_equal(eval_int("pow(x, y)", false, 2, -1), 0);
  assert_int_equal(eval_int("pow(x, y)", false, -1, -3), -1);
  assert_int_equal(eval_int("x ? y + 1 : 0", false, 5, 6), 7);
  assert_int_equal(eval_int("abs(x) + sign(x) + -y", false, -5, 3), 1);
  assert_int_equal(eval_int("x * k", false, 5, 0), 20);
  struct arena arena = {0};
  struct assay_error err = {0};
  const struct expr *e;
  const char *const without[] = {"exp(x)", "x * 0.5", "sqrt(x)"};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(expr_parse(without[i], NULL, 0, &arena, &e, &err), ASSAY_OK);
    assert_false(expr_has_integers(e));
  }
  arena_release(&arena);
}

static void test_out_of_memory(void **state) {
  (void)state;
  for (int n = 0;; n++) {
    struct arena arena = {0};
    struct assay_error err = {0};
    const struct expr *e;
    allocations = 0;
    fail_at = n;
    enum assay_status status = expr_parse("x + 1 * exp(y)", NULL, 0, &arena, &e, &err);
    fail_at = -1;
    arena_release(&arena);
    if (status == ASSAY_OK) {
      assert_true(n > 0);
      return;
    }
    assert_int_equal(status, ASSAY_ERR_NOMEM);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_precedence),
      cmocka_unit_test(test_functions),
      cmocka_unit_test(test_nan),
      cmocka_unit_test(test_syntax_errors),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_blocks_and_aliasing),
      cmocka_unit_test(test_contract_spread),
      cmocka_unit_test(test_bounded_functions_stay_bounded),
      cmocka_unit_test(test_contract_constants),
      cmocka_unit_test(test_integers),
      cmocka_unit_test(test_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
