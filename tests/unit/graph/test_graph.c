// SPDX-License-Identifier: Apache-2.0
// modules: onnx
// Element types, shapes, and the verifier of flat graphs.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "onnx/onnx.h"

// Every pattern of the small formats survives the way to double and back (NaNs stay NaNs), and decoding is monotone.
static void round_trip(enum dtype t, uint32_t patterns) {
  bool one = dtype_bytes(t) == 1;
  for (uint32_t p = 0; p < patterns; p++) {
    uint16_t wide = (uint16_t)p, wide_back = 0;
    uint8_t narrow = (uint8_t)p, narrow_back = 0;
    double x, again;
    dtype_to_f64(t, one ? (void *)&narrow : (void *)&wide, 1, &x);
    dtype_from_f64(t, &x, 1, one ? (void *)&narrow_back : (void *)&wide_back);
    if (isnan(x)) {
      dtype_to_f64(t, one ? (void *)&narrow_back : (void *)&wide_back, 1, &again);
      assert_true(isnan(again));
    } else {
      assert_int_equal(one ? narrow_back : wide_back, p);
    }
  }
}

static void test_small_formats(void **state) {
  (void)state;
  round_trip(DTYPE_FLOAT16, 1 << 16);
  round_trip(DTYPE_BFLOAT16, 1 << 16);
  round_trip(DTYPE_FLOAT8E4M3FN, 1 << 8);
  round_trip(DTYPE_FLOAT8E5M2, 1 << 8);
  round_trip(DTYPE_FLOAT8E4M3FNUZ, 1 << 8);
  round_trip(DTYPE_FLOAT8E5M2FNUZ, 1 << 8);
  round_trip(DTYPE_FLOAT8E8M0, 1 << 8);
  round_trip(DTYPE_FLOAT6E2M3, 1 << 6);
  round_trip(DTYPE_FLOAT6E3M2, 1 << 6);
  round_trip(DTYPE_FLOAT4E2M1, 1 << 4);
  // All of float4e2m1, and the ends of the others.
  static const double fours[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (uint8_t p = 0; p < 16; p++) {
    double x;
    dtype_to_f64(DTYPE_FLOAT4E2M1, &p, 1, &x);
    assert_true(x == (p & 8 ? -fours[p & 7] : fours[p & 7]) && !signbit(x) == !(p & 8));
  }
  static const struct {
    enum dtype t;
    double least, max;
  } ends[] = {{DTYPE_FLOAT8E4M3FNUZ, 0x1p-7, 240},   {DTYPE_FLOAT8E5M2FNUZ, 0x1p-15, 57344},
              {DTYPE_FLOAT8E8M0, 0x1p-127, 0x1p127}, {DTYPE_FLOAT6E2M3, 1, 7.5},
              {DTYPE_FLOAT6E3M2, 0.25, 28},          {DTYPE_FLOAT4E2M1, 1, 6}};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    struct float_format f;
    uint8_t code;
    double back;
    assert_true(dtype_float_format(ends[i].t, &f) && f.max == ends[i].max && ldexp(1, f.min_exponent) == ends[i].least);
    dtype_from_f64(ends[i].t, &ends[i].max, 1, &code);
    dtype_to_f64(ends[i].t, &code, 1, &back);
    assert_true(back == ends[i].max);
    dtype_from_f64(ends[i].t, (double[]){2 * ends[i].max}, 1, &code);
    dtype_to_f64(ends[i].t, &code, 1, &back);
    assert_true(f.no_nan ? back == f.max : isnan(back)); // none of them has an infinity
    assert_false(dtype_is_exchanged(ends[i].t));
  }
}

static uint16_t half(double x) {
  uint16_t out;
  dtype_from_f64(DTYPE_FLOAT16, &x, 1, &out);
  return out;
}

// Ties go to even, the largest values round to infinity where they should, subnormals keep their grid.
static void test_rounding(void **state) {
  (void)state;
  assert_int_equal(half(1.0), 0x3c00);
  assert_int_equal(half(1 + 0x1p-11), 0x3c00);
  assert_int_equal(half(1 + 3 * 0x1p-11), 0x3c02);
  assert_int_equal(half(1 + 0x1p-11 + 0x1p-30), 0x3c01);
  assert_int_equal(half(65519.99), 0x7bff);
  assert_int_equal(half(65520), 0x7c00);
  assert_int_equal(half(-65520), 0xfc00);
  assert_int_equal(half(0x1p-24), 0x0001);
  assert_int_equal(half(0x1p-25), 0x0000);
  assert_int_equal(half(0x1.8p-24), 0x0002);
  assert_int_equal(half(-0.0), 0x8000);
  double big[] = {0x1.fffffep127, 0x1.fffffefp127, 0x1.ffffffp127, -1e300, 448, 465, 1e9};
  float f[4];
  uint8_t e4[3];
  dtype_from_f64(DTYPE_FLOAT, big, 4, f);
  assert_true(f[0] == 0x1.fffffep127f && f[1] == 0x1.fffffep127f && isinf(f[2]) && f[3] == -INFINITY);
  dtype_from_f64(DTYPE_FLOAT8E4M3FN, big + 4, 3, e4);
  assert_int_equal(e4[0], 0x7e); // 448 is the largest
  assert_int_equal(e4[1], 0x7f); // beyond it there is only NaN
  assert_int_equal(e4[2], 0x7f);
}

static void test_integers(void **state) {
  (void)state;
  int8_t bytes[] = {-128, -1, 0, 127}, bytes_back[4];
  uint8_t flags[] = {0, 1, 7, 255};
  int64_t wide[4];
  dtype_to_i64(DTYPE_INT8, bytes, 4, wide);
  assert_true(wide[0] == -128 && wide[3] == 127);
  dtype_from_i64(DTYPE_INT8, wide, 4, bytes_back);
  assert_memory_equal(bytes, bytes_back, 4);
  dtype_to_i64(DTYPE_INT4, bytes + 1, 1, wide);
  assert_true(wide[0] == -1 && dtype_bits(DTYPE_INT4) == 4 && dtype_bytes(DTYPE_INT4) == 1);
  assert_true(dtype_is_signed(DTYPE_INT2) && !dtype_is_signed(DTYPE_UINT2) && !dtype_is_signed(DTYPE_BOOL));
  assert_true(dtype_is_exchanged(DTYPE_BOOL) && !dtype_is_exchanged(DTYPE_INT4) && !dtype_is_exchanged(DTYPE_STRING));
  dtype_to_i64(DTYPE_BOOL, flags, 4, wide);
  assert_true(wide[0] == 0 && wide[1] == 1 && wide[2] == 1 && wide[3] == 1);
}

static void test_names(void **state) {
  (void)state;
  enum dtype t;
  assert_true(dtype_by_name("float", 5, &t) && t == DTYPE_FLOAT);
  assert_true(dtype_by_name("bfloat16", 8, &t) && t == DTYPE_BFLOAT16);
  assert_false(dtype_by_name("floa", 4, &t));
  assert_false(dtype_by_name("undefined", 9, &t));
  assert_true(dtype_by_number(7, &t) && t == DTYPE_INT64);
  assert_false(dtype_by_number(1000, &t));
  assert_false(dtype_is_integer(DTYPE_STRING) || dtype_is_float(DTYPE_STRING));
}

static void test_shapes(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct shape a = shape_of(3, (int64_t[]){4, 1, 3}), b = shape_of(2, (int64_t[]){5, 1}), out;
  int64_t strides[SHAPE_MAX_RANK];
  char text[SHAPE_TEXT_BYTES];
  int axis;
  assert_int_equal(shape_broadcast(&a, &b, &out, &err), ASSAY_OK);
  assert_string_equal(shape_text(&out, text), "[4,5,3]");
  shape_broadcast_strides(&b, &out, strides);
  assert_true(strides[0] == 0 && strides[1] == 1 && strides[2] == 0);
  b.dims[1] = 2;
  assert_int_equal(shape_broadcast(&a, &b, &out, &err), ASSAY_ERR_INVALID);
  assert_non_null(strstr(err.message, "[4,1,3]"));
  struct shape wild = shape_of(3, (int64_t[]){0, (int64_t)1 << 39, 4});
  assert_int_equal(shape_check(&wild, &err), ASSAY_ERR_LIMIT);
  wild = shape_of(1, (int64_t[]){-1});
  assert_int_equal(shape_check(&wild, &err), ASSAY_ERR_LIMIT);
  assert_int_equal(shape_axis(-1, 3, &axis, &err), ASSAY_OK);
  assert_int_equal(axis, 2);
  assert_int_equal(shape_axis(3, 3, &axis, &err), ASSAY_ERR_INVALID);
}

static void expect_invalid(const char *text, const char *message) {
  struct model m;
  struct assay_error err = {0};
  assert_int_not_equal(onnx_parse_graph(text, strlen(text), "test", &m, &err), ASSAY_OK);
  if (!strstr(err.message, message))
    fail_msg("'%s' does not say '%s'", err.message, message);
}

static void test_verifier(void **state) {
  (void)state;
  expect_invalid("(float[2] x) => (float[2] y) { y = Relu(x, x) }", "input");
  expect_invalid("(float[2] x) => (float[2] y) { y = Relu<alpha = 1.0>(x) }", "alpha");
  expect_invalid("(float[2] x) => (float[2] y) { y = LeakyRelu<alpha = \"a\">(x) }", "type");
  expect_invalid("(float[2] x) => (float[2] y) { y = Cast(x) }", "to");
  expect_invalid("(float[2] x) => (float[2] y) { z = Relu(x)\n z = Relu(x)\n y = Relu(z) }", "z");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_small_formats), cmocka_unit_test(test_rounding), cmocka_unit_test(test_integers),
      cmocka_unit_test(test_names),         cmocka_unit_test(test_shapes),   cmocka_unit_test(test_verifier),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
