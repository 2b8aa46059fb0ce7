// SPDX-License-Identifier: Apache-2.0
// The device code that is not written in the dialect (the runner's helpers, the peaks) compiles for the architectures
// that it has forms for, and has the kernels that are asked of it. Needs NVRTC, and no GPU.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "compute/nvrtc.h"
#include "plan/plan.h"
#include "skip.h"

extern const char code_utility[], code_peaks[], code_peaks_matrix[];

static struct nvrtc *nvrtc;

static int open_compiler(void **state) {
  (void)state;
  struct assay_error err = {0};
  if (nvrtc_open(getenv("ASSAY_NVRTC"), &nvrtc, &err))
    printf("left out: no NVRTC: %s\n", err.message);
  return 0;
}

static int close_compiler(void **state) {
  (void)state;
  nvrtc_close(nvrtc);
  return 0;
}

// Compiles and looks for the kernels.
static void has(const char *source, const char *target, const char *const *kernels) {
  char option[64];
  snprintf(option, sizeof option, "--gpu-architecture=%s", target);
  const char *const options[] = {option, "--std=c++17", NULL};
  struct nvrtc_request request = {.source = source, .name = "code.cu", .options = options};
  struct nvrtc_result result = {0};
  struct assay_error err = {0};
  struct arena arena = {0};
  struct cubin_info info = {0};
  assert_int_equal(nvrtc_compile(nvrtc, &request, &result, &err), ASSAY_OK);
  if (!result.compiled)
    print_error("%s: %s\n", target, result.log);
  assert_true(result.compiled);
  assert_string_equal(result.log, "");
  assert_int_equal(cubin_read((const uint8_t *)result.code, result.code_bytes, &arena, &info, &err), ASSAY_OK);
  for (size_t i = 0; kernels[i]; i++) {
    if (!cubin_find(&info, kernels[i]))
      print_error("%s has no %s\n", target, kernels[i]);
    assert_non_null(cubin_find(&info, kernels[i]));
  }
  arena_release(&arena);
  nvrtc_result_release(&result);
}

static void helpers(void **state) {
  (void)state;
  static const char *const kernels[] = {"utility_read", "utility_empty", "utility_hold", "utility_leave", NULL};
  static const char *const targets[] = {"sm_80", "sm_90a"};
  if (!nvrtc)
    SKIP_BECAUSE("no NVRTC here");
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
    has(code_utility, targets[i], kernels);
}

static void peaks(void **state) {
  (void)state;
  static const char *const simple[] = {"peak_copy", "peak_copy_streaming", "peak_read",        "peak_write",
                                       "peak_fp32", "peak_fp64",           "peak_fp64_matrix", NULL};
  static const char *const matrix[] = {"peak_bf16", "peak_fp16", "peak_tf32", NULL};
  if (!nvrtc)
    SKIP_BECAUSE("no NVRTC here");
  has(code_peaks, "sm_90a", simple);
  has(code_peaks_matrix, "sm_80", matrix);
  has(code_peaks_matrix, "sm_90a", matrix);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(helpers),
      cmocka_unit_test(peaks),
  };
  return cmocka_run_group_tests(tests, open_compiler, close_compiler);
}
