// SPDX-License-Identifier: Apache-2.0
// Tensor types: sizes, comparison, text; and sizes of types that nobody checked.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/tensor_type.h"

static void test_sizes(void **state) {
  (void)state;
  char text[TENSOR_TYPE_TEXT_BYTES];
  const struct tensor_type matrix = {DTYPE_BFLOAT16, {2, {3, 4}}}, scalar = {DTYPE_DOUBLE, {.rank = 0}};
  struct tensor_type other = matrix;
  assert_int_equal(tensor_type_count(&matrix), 12);
  assert_int_equal(tensor_type_bytes(&matrix), 24);
  assert_int_equal(tensor_type_bytes(&scalar), 8);
  assert_string_equal(tensor_type_text(&matrix, text), "bfloat16[3, 4]");
  assert_string_equal(tensor_type_text(&scalar, text), "double[]");
  assert_true(tensor_type_equal(&matrix, &other));
  other.shape.dims[2] = 7; // beyond the rank
  assert_true(tensor_type_equal(&matrix, &other));
  other.dtype = DTYPE_FLOAT16;
  assert_false(tensor_type_equal(&matrix, &other));
  other = (struct tensor_type){DTYPE_BFLOAT16, {2, {4, 3}}};
  assert_false(tensor_type_equal(&matrix, &other));
}

static void test_longest_text(void **state) {
  (void)state;
  char text[TENSOR_TYPE_TEXT_BYTES];
  struct tensor_type t = {DTYPE_FLOAT8E4M3FN, {.rank = SHAPE_MAX_RANK}};
  for (int i = 0; i < SHAPE_MAX_RANK; i++)
    t.shape.dims[i] = INT64_MIN;
  size_t n = strlen(tensor_type_text(&t, text));
  assert_true(n < TENSOR_TYPE_TEXT_BYTES);
  assert_int_equal(text[n - 1], ']');
}

static void test_measure(void **state) {
  (void)state;
  static const struct tensor_type none[] = {
      {DTYPE_FLOAT, {2, {3, -1}}},
      {DTYPE_FLOAT, {1, {-1}}},
      {DTYPE_FLOAT, {-1, {0}}},
      {DTYPE_FLOAT, {SHAPE_MAX_RANK + 1, {1}}},
      {DTYPE_STRING, {1, {1}}},
      {DTYPE_UNDEFINED, {1, {1}}},
      {DTYPE_FLOAT, {1, {INT64_MAX / 2}}},
      {DTYPE_FLOAT, {2, {INT64_MAX, INT64_MAX}}},
  };
  uint64_t bytes = 0;
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    assert_false(tensor_type_measure(&none[i], &bytes));
  const struct tensor_type t = {DTYPE_INT8, {1, {INT64_MAX}}};
  assert_true(tensor_type_measure(&t, &bytes));
  assert_int_equal(bytes, INT64_MAX);
  const struct tensor_type empty = {DTYPE_FLOAT, {2, {0, 5}}};
  assert_true(tensor_type_measure(&empty, &bytes));
  assert_int_equal(bytes, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_longest_text),
      cmocka_unit_test(test_measure),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
