// SPDX-License-Identifier: Apache-2.0
// GroupedMatMul: groups of all sizes, ends that do not rise, rows that no group has, errors.
#include "op_call.h"

static const double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, w[] = {1, 0, 0, 1, 10, 0, 0, 100, 1, 1, -1, 1};

static void begin(struct call *c) {
  call_begin(c, "MatMul", 1);
  c->node.op_type = "GroupedMatMul";
  c->node.domain = "ai.assay";
  c->node.op = op_find("ai.assay", "GroupedMatMul", 1);
}

static void test_groups(void **state) {
  (void)state;
  struct call c;
  begin(&c);
  call_f(&c, "5,2", x);
  call_f(&c, "3,2,2", w);
  call_i(&c, "3", I(1, 1, 4)); // the second is empty, the last row is nobody's
  call_run(&c, 1);
  call_check_f(&c, 0, "5,2", D(1, 2, -1, 7, -1, 11, -1, 15, 0, 0));
  call_end(&c);
  begin(&c);
  call_f(&c, "5,2", x);
  call_f(&c, "3,2,2", w);
  call_i(&c, "3", I(3, -7, 1000)); // back, and beyond
  call_run(&c, 1);
  call_check_f(&c, 0, "5,2", D(1, 2, 3, 4, 5, 6, -1, 15, -1, 19));
  call_end(&c);
  begin(&c);
  call_f(&c, "0,2", x);
  call_f(&c, "3,2,1", w);
  call_i(&c, "3", I(0, 0, 0));
  call_run(&c, 1);
  call_check_shape(&c, 0, "0,1");
  call_end(&c);
}

static void test_errors(void **state) {
  (void)state;
  struct call c;
  begin(&c);
  call_f(&c, "5,2", x);
  call_f(&c, "4,3,1", w);
  call_i(&c, "4", I(1, 2, 3, 4));
  call_fails(&c, 1, ASSAY_ERR_INVALID, "2 columns meet 3 rows");
  begin(&c);
  call_f(&c, "5,2", x);
  call_f(&c, "3,2,2", w);
  call_i(&c, "2", I(1, 2));
  call_fails(&c, 1, ASSAY_ERR_INVALID, "3 matrices have 2 ends");
  begin(&c);
  call_f(&c, "5,2", x);
  call_f(&c, "2,2", w);
  call_i(&c, "2", I(1, 2));
  call_fails(&c, 1, ASSAY_ERR_INVALID, "matrices [e, k, n]");
  begin(&c);
  call_f(&c, "5,2", x);
  call_f(&c, "3,2,2", w);
  call_f(&c, "3", x);
  call_fails(&c, 1, ASSAY_ERR_INVALID, "int32 or int64");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_groups), cmocka_unit_test(test_errors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
