// SPDX-License-Identifier: Apache-2.0
// The least time for a task's work: which limit counts, and at what rate memory goes.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "assay/judge.h"

static const struct assay_peaks peaks = {.bytes_per_s = 4e12,
                                         .read_bytes_per_s = 5e12,
                                         .write_bytes_per_s = 4.5e12,
                                         .flops_per_s = 60e12,
                                         .contraction_flops_per_s = 140e12,
                                         .tf32_flops_per_s = 450e12,
                                         .half_flops_per_s = 900e12,
                                         .cache_bytes = 1e6};

static void near(double x, double wanted) {
  if (!(fabs(x - wanted) <= 1e-9 * wanted))
    fail_msg("%.12g instead of %.12g", x, wanted);
}

static void test_memory(void **state) {
  (void)state;
  near(assay_floor_ns(&peaks, "fp32", 5e12, 0, 0, 0), 1e9);
  near(assay_floor_ns(&peaks, "fp32", 5e12, 1e6, 0, 0), 1e9); // stays in the cache
  near(assay_floor_ns(&peaks, "fp32", 2e12, 2e12 + 1e6, 0, 0), 1e9);
  near(assay_floor_ns(&peaks, "fp32", 0, 4.5e12 + 1e6, 0, 0), 1e9);
  // A third of it written: two thirds of the way to a copy.
  near(assay_floor_ns(&peaks, "fp32", 2e12, 1e12 + 1e6, 0, 0), 1e9 * 3e12 * (1 / 5e12 + (1 / 4e12 - 1 / 5e12) * 2 / 3));
  near(assay_floor_ns(&peaks, "fp32", 1e6, 1e6, 60e12, 0), 1e9);
  struct assay_peaks cpu = {.bytes_per_s = 1e10, .flops_per_s = 1e12};
  near(assay_floor_ns(&cpu, "fp32", 5e9, 5e9, 0, 0), 1e9);
  assert_true(assay_floor_ns(&cpu, "fp32", 0, 0, 0, 0) == 0);
}

static void test_operations(void **state) {
  (void)state;
  struct assay_peaks unknown = {0};
  near(assay_floor_ns(&peaks, "fp32", 1, 0, 60e12, 0), 1e9);
  near(assay_floor_ns(&peaks, "fp32", 1, 0, 0, 140e12), 1e9);
  near(assay_floor_ns(&peaks, "tf32", 1, 0, 0, 450e12), 1e9);
  near(assay_floor_ns(&peaks, "bf16", 1, 0, 0, 900e12), 1e9);
  assert_true(isnan(assay_floor_ns(&unknown, "fp32", 1, 1, 1, 1)));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory), cmocka_unit_test(test_operations)};
  return cmocka_run_group_tests_name("floor", tests, NULL, NULL);
}
