// SPDX-License-Identifier: Apache-2.0
// Which GPU a child sees, under what may stand in the environment of who started us.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sandbox/gpu_visible.h"

static void check(const char *visible, int index, const char *expected) {
  struct gpu_visible v;
  gpu_visible_from(visible, NULL);
  gpu_visible(index, &v);
  assert_memory_equal(v.devices, "CUDA_VISIBLE_DEVICES=", 21);
  assert_string_equal(v.devices + 21, expected);
}

static void the_number_counts_visible_gpus(void **state) {
  (void)state;
  check(NULL, 0, "0");
  check(NULL, 3, "3");
  check("2", 0, "2");
  check("3,1", 0, "3");
  check("3,1", 1, "1");
  check("3, 1 ,0", 1, "1");
  check("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6,1", 0, "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6");
  check("MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1/0", 0, "MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1/0");
}

// CUDA itself then reports no GPU.
static void beyond_the_list_is_none(void **state) {
  (void)state;
  char longer[400];
  memset(longer, 'x', sizeof longer - 1);
  longer[sizeof longer - 1] = '\0';
  check("", 0, "");
  check("2", 1, "");
  check("2,", 1, "");
  check(longer, 0, "");
}

static void the_order_goes_with_it(void **state) {
  (void)state;
  struct gpu_visible v;
  gpu_visible_from(NULL, "PCI_BUS_ID");
  gpu_visible(0, &v);
  assert_string_equal(v.order, "CUDA_DEVICE_ORDER=PCI_BUS_ID");
  gpu_visible_from(NULL, NULL);
  gpu_visible(0, &v);
  assert_string_equal(v.order, "CUDA_DEVICE_ORDER=FASTEST_FIRST");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_number_counts_visible_gpus),
      cmocka_unit_test(beyond_the_list_is_none),
      cmocka_unit_test(the_order_goes_with_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
