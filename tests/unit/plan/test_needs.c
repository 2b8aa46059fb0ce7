// SPDX-License-Identifier: Apache-2.0
// What kernels need of an SM: of a cubin whose facts ptxas printed (tests/fuzz/corpus/cubin/needs.cu).
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "plan/plan.h"

static struct plan_step launch(const char *kernel, const char *label, uint32_t threads, uint32_t shared) {
  return (struct plan_step){.kind = PLAN_LAUNCH,
                            .kernel = kernel,
                            .label = label,
                            .grid = {7, 1, 1},
                            .block = {threads, 1, 1},
                            .shared_bytes = shared};
}

static void test_needs(void **state) {
  (void)state;
  struct assay_error err = {0};
  char *bytes;
  size_t n;
  assert_int_equal(file_read(ASSAY_SOURCE_DIR "/tests/fuzz/corpus/cubin/needs_sm90.cubin", 1 << 20, &bytes, &n, &err),
                   ASSAY_OK);
  struct plan_module module = {.name = "needs.cu", .code = PLAN_CUBIN, .bytes = (uint8_t *)bytes, .size = n};
  struct plan_step steps[] = {
      launch("hold", NULL, 256, 0), {.kind = PLAN_FILL},         launch("turn", "turn<int>", 512, 100 << 10),
      launch("hold", NULL, 128, 0), launch("none", NULL, 32, 0),
  };
  struct plan p = {.target = "sm_90", .n_modules = 1, .modules = &module, .n_steps = 5, .steps = steps};
  struct plan_need needs[3];
  int count;
  assert_int_equal(plan_needs(&p, needs, 3, &count, &err), ASSAY_OK);
  assert_int_equal(count, 2);
  assert_string_equal(needs[0].name, "hold");
  assert_int_equal(needs[0].launches, 2);
  assert_int_equal(needs[0].registers, 32);
  assert_int_equal(needs[0].local_bytes, 232);
  assert_int_equal(needs[0].threads, 256); // where it is launched first
  assert_int_equal(needs[0].blocks, 8);    // 2048 threads, and 64 warps of 1024 registers
  assert_true(needs[0].occupancy == 1);
  assert_string_equal(needs[1].name, "turn<int>");
  assert_int_equal(needs[1].registers, 14);
  assert_int_equal(needs[1].local_bytes, 0);
  assert_int_equal(needs[1].shared_bytes, 2048 + (100 << 10));
  assert_int_equal(needs[1].blocks, 2); // 103 KiB and the system's 1 KiB of 228 KiB
  assert_true(needs[1].occupancy == 0.5);
  assert_int_equal(plan_needs(&p, needs, 1, &count, &err), ASSAY_OK);
  assert_int_equal(count, 1);
  p.target = "sm_72";
  assert_int_equal(plan_needs(&p, needs, 3, &count, &err), ASSAY_OK);
  assert_int_equal(needs[0].registers, 32);
  assert_int_equal(needs[0].blocks, 0);
  assert_true(isnan(needs[0].occupancy));
  base_free(bytes);
}

// By hand from the programming guide's table: which limit binds.
static void test_resident_blocks(void **state) {
  (void)state;
  struct plan_sm sm;
  assert_false(plan_sm_of_target("", &sm));
  assert_true(plan_sm_of_target("sm_90a", &sm));
  assert_int_equal(plan_resident_blocks(&sm, 32, 16, 0), 32);         // blocks
  assert_int_equal(plan_resident_blocks(&sm, 1024, 32, 0), 2);        // threads
  assert_int_equal(plan_resident_blocks(&sm, 256, 255, 0), 1);        // registers: 8 warps of 8192 is all of them
  assert_int_equal(plan_resident_blocks(&sm, 256, 65, 0), 3);         // 2304 a warp: 7 in each part, 28 warps
  assert_int_equal(plan_resident_blocks(&sm, 128, 32, 227 << 10), 1); // shared memory
  assert_int_equal(plan_resident_blocks(&sm, 128, 32, 228 << 10), 0); // the system's own part does not fit
  assert_int_equal(plan_resident_blocks(&sm, 0, 32, 0), 0);
  assert_int_equal(plan_resident_blocks(&sm, 4096, 32, 0), 0);
  assert_int_equal(plan_resident_blocks(&sm, 32, 32, UINT64_MAX), 0);
  assert_true(plan_sm_of_target("sm_75", &sm));
  assert_int_equal(plan_resident_blocks(&sm, 1024, 64, 0), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_needs),
      cmocka_unit_test(test_resident_blocks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
