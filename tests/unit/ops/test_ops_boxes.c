// SPDX-License-Identifier: Apache-2.0
// NonMaxSuppression: order, thresholds, both formats of boxes, several classes and batches, and what cannot be done.
#include "op_call.h"

static const double six[] = {0, 0,  1, 1,  0, 0.1,  1, 1.1,  0, -0.1, 1, 0.9,
                             0, 10, 1, 11, 0, 10.1, 1, 11.1, 0, 100,  1, 101};
static const double scores[] = {0.9, 0.75, 0.6, 0.95, 0.5, 0.3};

static void begin(struct call *c, const double *boxes, int64_t most, double overlap) {
  call_begin(c, "NonMaxSuppression", 11);
  call_f(c, "1,6,4", boxes);
  call_f(c, "1,1,6", scores);
  call_i(c, "1", I(most));
  call_f(c, "1", &overlap);
}

static void test_selection(void **state) {
  (void)state;
  struct call c;
  double centres[24], flipped[24];
  for (int i = 0; i < 6; i++)
    for (int d = 0; d < 2; d++) {
      centres[4 * i + d] = (six[4 * i + d] + six[4 * i + 2 + d]) / 2;
      centres[4 * i + 2 + d] = six[4 * i + 2 + d] - six[4 * i + d];
      flipped[4 * i + d] = six[4 * i + (i % 2 == d ? 2 : 0) + d];
      flipped[4 * i + 2 + d] = six[4 * i + (i % 2 == d ? 0 : 2) + d];
    }
  for (int form = 0; form < 3; form++) {
    begin(&c, form == 0 ? six : form == 1 ? flipped : centres, 3, 0.5);
    call_attr_int(&c, "center_point_box", form == 2);
    call_run(&c, 1);
    call_check_i(&c, 0, "3,3", I(0, 0, 3, 0, 0, 0, 0, 0, 5));
    call_end(&c);
  }
  begin(&c, six, 3, 0.5);
  call_f(&c, "1", D(0.4)); // only scores above it
  call_run(&c, 1);
  call_check_i(&c, 0, "2,3", I(0, 0, 3, 0, 0, 0));
  call_end(&c);
  begin(&c, six, 9, 1); // nothing overlaps by more than all
  call_run(&c, 1);
  call_check_i(&c, 0, "6,3", I(0, 0, 3, 0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 4, 0, 0, 5));
  call_end(&c);
  begin(&c, six, -1, 0.5);
  call_run(&c, 1);
  call_check_shape(&c, 0, "0,3");
  call_end(&c);
}

// Exactly the threshold is kept; the default of 0 suppresses whatever touches; no number of boxes means none.
static void test_thresholds(void **state) {
  (void)state;
  for (int given = 0; given < 3; given++) {
    struct call c;
    call_begin(&c, "NonMaxSuppression", 10);
    call_f(&c, "1,3,4", D(0, 0, 1, 1, 0, 0, 1, 0.5, 5, 5, 5, 6)); // the third has no area
    call_f(&c, "1,1,3", D(0.5, 0.5, 0.1));                        // of equal scores the first
    if (given)
      call_i(&c, "", I(5));
    if (given == 2)
      call_f(&c, "", D(0.5));
    call_run(&c, 1);
    call_check_i(&c, 0,
                 given == 0   ? "0,3"
                 : given == 1 ? "2,3"
                              : "3,3",
                 given == 1 ? I(0, 0, 0, 0, 0, 2) : I(0, 0, 0, 0, 0, 1, 0, 0, 2));
    call_end(&c);
  }
}

static void test_classes_and_batches(void **state) {
  (void)state;
  struct call c;
  call_begin(&c, "NonMaxSuppression", 11);
  call_f(&c, "2,2,4", D(0, 0, 1, 1, 0, 0, 1, 0.9, 0, 0, 1, 1, 5, 5, 6, 6));
  call_f(&c, "2,2,2", D(1, 2, 4, 3, 1, 2, 4, 3));
  call_i(&c, "", I(2));
  call_f(&c, "", D(0.5));
  call_run(&c, 1);
  call_check_i(&c, 0, "6,3", I(0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 1, 0, 1, 1, 1));
  call_end(&c);
}

static void test_errors(void **state) {
  (void)state;
  struct call c;
  begin(&c, six, 3, 0.5);
  c.in[1].bits = NULL; // known at run time only
  call_fails(&c, 1, ASSAY_ERR_UNSUPPORTED, "input 1 must be a constant");
  call_begin(&c, "NonMaxSuppression", 11);
  call_f(&c, "1,2,4", six);
  call_f(&c, "1,1,3", scores);
  call_fails(&c, 1, ASSAY_ERR_INVALID, "[batches, boxes, 4]");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_selection),
      cmocka_unit_test(test_thresholds),
      cmocka_unit_test(test_classes_and_batches),
      cmocka_unit_test(test_errors),
  };
  return cmocka_run_group_tests_name("NonMaxSuppression", tests, NULL, NULL);
}
