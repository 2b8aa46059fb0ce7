// SPDX-License-Identifier: Apache-2.0
// What can be said of a GPU's state without one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "device/monitor.h"

static void reasons_have_names(void **state) {
  (void)state;
  char text[200];
  monitor_throttle_text(0, text, sizeof text);
  assert_string_equal(text, "");
  monitor_throttle_text(0x44, text, sizeof text);
  assert_string_equal(text, "sw_power_cap, hw_thermal_slowdown");
  monitor_throttle_text(0x1 | 0x80000000000u, text, sizeof text);
  assert_string_equal(text, "gpu_idle, 0x80000000000");
}

static void long_texts_are_cut(void **state) {
  (void)state;
  char text[12];
  memset(text, 'x', sizeof text);
  monitor_throttle_text(0x1ff, text, 10);
  assert_string_equal(text, "gpu_idle,");
  assert_int_equal(text[10], 'x');
}

static void an_unknown_gpu_is_an_environment_that_lacks_it(void **state) {
  (void)state;
  struct monitor *m = NULL;
  struct monitor_reading r;
  struct assay_error err = {0};
  enum assay_status status = monitor_open(&m, &err);
  if (!status)
    status = monitor_find(m, "GPU-00000000-0000-0000-0000-000000000000", &err);
  else
    assert_null(m);
  assert_int_equal(status, ASSAY_ERR_ENVIRONMENT);
  assert_true(strlen(err.message) > 20);
  assert_false(monitor_read(NULL, &r));
  monitor_close(m);
  monitor_close(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reasons_have_names),
      cmocka_unit_test(long_texts_are_cut),
      cmocka_unit_test(an_unknown_gpu_is_an_environment_that_lacks_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
