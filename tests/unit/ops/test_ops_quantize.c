// SPDX-License-Identifier: Apache-2.0
// Quantization: the examples of ONNX's documentation, scales of all kinds, ranges and errors.
#include "op_call.h"

static void begin(struct call *c, const char *op, int version, enum dtype x, const char *shape, const void *words) {
  call_begin(c, op, version);
  call_input(c, x, shape, words);
}

static void test_one_scale(void **state) {
  (void)state;
  struct call c;
  begin(&c, "QuantizeLinear", 10, DTYPE_FLOAT, "6", D(0, 2, 3, 1000, -254, -1000));
  call_f(&c, "", D(2));
  call_input(&c, DTYPE_UINT8, "", I(128));
  call_run(&c, 1);
  assert_int_equal(c.out[0].dtype, DTYPE_UINT8);
  call_check_i(&c, 0, "6", I(128, 129, 130, 255, 1, 0)); // 3 / 2 goes to the even 2
  call_end(&c);
  begin(&c, "QuantizeLinear", 13, DTYPE_FLOAT, "4", D(2.5, 3.5, -1, NAN)); // uint8 from 0 without a zero point
  call_f(&c, "1", D(1));
  call_run(&c, 1);
  call_check_i(&c, 0, "4", I(2, 4, 0, 0));
  call_end(&c);
  begin(&c, "DequantizeLinear", 10, DTYPE_UINT8, "4", I(0, 3, 128, 255));
  call_f(&c, "", D(2));
  call_input(&c, DTYPE_UINT8, "", I(128));
  call_run(&c, 1);
  call_check_f(&c, 0, "4", D(-256, -250, 0, 254));
  call_end(&c);
}

// The ends of every integer type.
static void test_ranges(void **state) {
  (void)state;
  static const struct {
    enum dtype t;
    int64_t low, high;
  } ranges[] = {{DTYPE_INT8, -128, 127}, {DTYPE_UINT8, 0, 255}, {DTYPE_INT16, -32768, 32767}, {DTYPE_UINT16, 0, 65535},
                {DTYPE_INT4, -8, 7},     {DTYPE_UINT4, 0, 15},  {DTYPE_INT2, -2, 1},          {DTYPE_UINT2, 0, 3}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    struct call c;
    begin(&c, "QuantizeLinear", 25, DTYPE_FLOAT, "4", D(-1e9, 1e9, -INFINITY, INFINITY));
    call_f(&c, "", D(0.5));
    call_attr_int(&c, "output_dtype", ranges[i].t);
    call_run(&c, 1);
    assert_int_equal(c.out[0].dtype, ranges[i].t);
    call_check_i(&c, 0, "4", I(ranges[i].low, ranges[i].high, ranges[i].low, ranges[i].high));
    call_end(&c);
  }
}

static void test_floats(void **state) {
  (void)state;
  struct call c;
  for (int saturate = 0; saturate < 2; saturate++) {
    begin(&c, "QuantizeLinear", 19, DTYPE_FLOAT, "5", D(0, 1, 2, 100000, 200));
    call_f(&c, "", D(2));
    call_input(&c, DTYPE_FLOAT8E4M3FN, "", D(0));
    call_attr_int(&c, "saturate", saturate);
    call_run(&c, 1);
    assert_true(saturate ? c.out[0].f64[3] == 448 : isnan(c.out[0].f64[3]));
    c.out[0].f64[3] = 448;
    call_check_f(&c, 0, "5", D(0, 0.5, 1, 448, 96));
    call_end(&c);
  }
  begin(&c, "QuantizeLinear", 23, DTYPE_FLOAT, "3", D(2.4, -30, 1)); // types of less than 8 bits always saturate
  call_f(&c, "", D(2));
  call_input(&c, DTYPE_FLOAT4E2M1, "", D(1));
  call_attr_int(&c, "saturate", 0);
  call_run(&c, 1);
  call_check_f(&c, 0, "3", D(2, -6, 1.5));
  call_end(&c);
  begin(&c, "DequantizeLinear", 23, DTYPE_FLOAT8E5M2, "2", D(0.5, -3));
  call_f(&c, "", D(2));
  call_attr_int(&c, "output_dtype", DTYPE_BFLOAT16);
  call_run(&c, 1);
  assert_int_equal(c.out[0].dtype, DTYPE_BFLOAT16);
  call_check_f(&c, 0, "2", D(1, -6));
  call_end(&c);
}

static void test_scales_of_an_axis(void **state) {
  (void)state;
  struct call c;
  for (int axis = -2; axis < 2; axis++) { // rows at -2 and 0
    bool rows = axis % 2 == 0;
    begin(&c, "QuantizeLinear", 13, DTYPE_FLOAT, rows ? "2,3" : "3,2", D(4, 8, 12, 4, 8, 12));
    call_attr_int(&c, "axis", axis);
    call_f(&c, "2", D(1, 4));
    call_input(&c, DTYPE_INT8, "2", I(0, 10));
    call_run(&c, 1);
    call_check_i(&c, 0, rows ? "2,3" : "3,2", rows ? I(4, 8, 12, 11, 12, 13) : I(4, 12, 12, 11, 8, 13));
    call_end(&c);
  }
  begin(&c, "DequantizeLinear", 13, DTYPE_INT32, "1,2,1", I(-7, 9)); // axis 1 where nothing is said
  call_f(&c, "2", D(2, 0.5));
  call_run(&c, 1);
  call_check_f(&c, 0, "1,2,1", D(-14, 4.5));
  call_end(&c);
  begin(&c, "QuantizeLinear", 13, DTYPE_FLOAT, "0,2", D(0)); // nothing at all
  call_f(&c, "2", D(1, 4));
  call_run(&c, 1);
  call_check_shape(&c, 0, "0,2");
  call_end(&c);
}

// The last block is smaller; in front of the axis and after it every element has a scale of its own.
static void test_blocks(void **state) {
  (void)state;
  struct call c;
  begin(&c, "DequantizeLinear", 21, DTYPE_INT8, "2,3,2", I(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
  call_attr_int(&c, "block_size", 2);
  call_f(&c, "2,2,2", D(1, 10, 100, 1000, 2, 3, 4, 5));
  call_input(&c, DTYPE_INT8, "2,2,2", I(0, 0, 1, 0, 0, 0, 0, 2));
  call_run(&c, 1);
  call_check_f(&c, 0, "2,3,2", D(1, 20, 3, 40, 400, 6000, 14, 24, 18, 30, 44, 50));
  call_end(&c);
  begin(&c, "QuantizeLinear", 21, DTYPE_FLOAT, "5", D(1, 2, 3, 4, 5));
  call_attr_int(&c, "block_size", 3);
  call_attr_int(&c, "axis", 0);
  call_f(&c, "2", D(1, 0.5));
  call_run(&c, 1);
  call_check_i(&c, 0, "5", I(1, 2, 3, 8, 10));
  call_end(&c);
}

static void test_errors(void **state) {
  (void)state;
  struct call c;
  begin(&c, "QuantizeLinear", 13, DTYPE_FLOAT, "2,3", D(1, 2, 3, 4, 5, 6));
  call_f(&c, "2", D(1, 4));
  call_fails(&c, 1, ASSAY_ERR_INVALID, "fits neither axis 1");
  begin(&c, "QuantizeLinear", 21, DTYPE_FLOAT, "2,3", D(1, 2, 3, 4, 5, 6));
  call_f(&c, "2,2", D(1, 4, 1, 1));
  call_fails(&c, 1, ASSAY_ERR_INVALID, "block_size must be given");
  begin(&c, "QuantizeLinear", 21, DTYPE_FLOAT, "2,3", D(1, 2, 3, 4, 5, 6));
  call_f(&c, "2,2", D(1, 4, 1, 1));
  call_attr_int(&c, "block_size", 1);
  call_fails(&c, 1, ASSAY_ERR_INVALID, "need 3 scales, not 2");
  begin(&c, "QuantizeLinear", 21, DTYPE_FLOAT, "2", D(1, 2));
  call_f(&c, "", D(1));
  call_input(&c, DTYPE_INT8, "", I(0));
  call_attr_int(&c, "output_dtype", DTYPE_UINT8);
  call_fails(&c, 1, ASSAY_ERR_INVALID, "the zero point is int8");
  begin(&c, "QuantizeLinear", 21, DTYPE_FLOAT, "2", D(1, 2));
  call_f(&c, "", D(1));
  call_attr_int(&c, "output_dtype", DTYPE_FLOAT16);
  call_fails(&c, 1, ASSAY_ERR_INVALID, "float16 is not a type");
  begin(&c, "DequantizeLinear", 21, DTYPE_INT8, "2", I(1, 2));
  call_f(&c, "", D(1));
  call_input(&c, DTYPE_UINT8, "", I(0));
  call_fails(&c, 1, ASSAY_ERR_INVALID, "another type");
  begin(&c, "QuantizeLinear", 13, DTYPE_FLOAT, "2,2", D(1, 2, 3, 4));
  call_f(&c, "2", D(1, 4));
  call_input(&c, DTYPE_INT8, "1", I(0));
  call_fails(&c, 1, ASSAY_ERR_INVALID, "the zero point [1]");
}

static void test_dynamic(void **state) {
  (void)state;
  struct call c;
  begin(&c, "DynamicQuantizeLinear", 11, DTYPE_FLOAT, "6", D(0, 2, -3, -2.5, 1.34, 0.5));
  call_run(&c, 3);
  call_check_i(&c, 0, "6", I(153, 255, 0, 26, 221, 179));
  call_check_f(&c, 1, "", D((double)(5.0F / 255)));
  call_check_i(&c, 2, "", I(153));
  call_end(&c);
  begin(&c, "DynamicQuantizeLinear", 11, DTYPE_FLOAT, "2", D(1, 4)); // 0 is included
  call_run(&c, 3);
  call_check_i(&c, 0, "2", I(64, 255));
  call_check_i(&c, 2, "", I(0));
  call_end(&c);
  begin(&c, "DynamicQuantizeLinear", 11, DTYPE_FLOAT, "2", D(0, 0));
  call_run(&c, 3);
  call_check_i(&c, 0, "2", I(0, 0));
  call_check_f(&c, 1, "", D(0));
  call_end(&c);
}

// Near a tie, passes in fp32 end on both sides; far from one, on the right one.
static void test_passes(void **state) {
  (void)state;
  int64_t seen[2] = {0};
  for (uint64_t key = 1; key < 40; key++) {
    struct call c;
    begin(&c, "QuantizeLinear", 13, DTYPE_FLOAT, "2", D(0.35, 0.31));
    call_f(&c, "", D(0.1));
    c.arith = (struct arith){.bits = 8, .min_exponent = -126, .max = 3e38, .block = 1, .key = key};
    call_run(&c, 1);
    assert_true((c.out[0].i64[0] == 3 || c.out[0].i64[0] == 4) && c.out[0].i64[1] == 3);
    seen[c.out[0].i64[0] - 3]++;
    call_end(&c);
  }
  assert_true(seen[0] + seen[1] == 39);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_scale),         cmocka_unit_test(test_ranges), cmocka_unit_test(test_floats),
      cmocka_unit_test(test_scales_of_an_axis), cmocka_unit_test(test_blocks), cmocka_unit_test(test_errors),
      cmocka_unit_test(test_dynamic),           cmocka_unit_test(test_passes),
  };
  return cmocka_run_group_tests_name("quantization", tests, NULL, NULL);
}
