// SPDX-License-Identifier: Apache-2.0
// NVRTC: what it says of right and wrong sources, of options and of names. Where no NVRTC can be found, only that is
// tested.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compute/nvrtc.h"
#include "skip.h"

static struct nvrtc *open_or_skip(void) {
  struct assay_error err = {0};
  struct nvrtc *n = NULL;
  if (nvrtc_open(getenv("ASSAY_NVRTC"), &n, &err) != ASSAY_OK) {
    assert_int_equal(err.status, ASSAY_ERR_ENVIRONMENT);
    assert_non_null(strstr(err.message, "install"));
    SKIP_BECAUSE("no NVRTC: %s", err.message);
  }
  return n;
}

static const char *const options[] = {"--gpu-architecture=sm_90", "--std=c++17", NULL};

static void test_missing(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct nvrtc *n = NULL;
  assert_int_equal(nvrtc_open("/nowhere/libnvrtc.so.12", &n, &err), ASSAY_ERR_ENVIRONMENT);
  assert_null(n);
  assert_non_null(strstr(err.message, "/nowhere/libnvrtc.so.12"));
  assert_non_null(strstr(err.message, "pip install"));
  // A library that is there but is not NVRTC.
  assert_int_equal(nvrtc_open("libm.so.6", &n, &err), ASSAY_ERR_ENVIRONMENT);
  assert_non_null(strstr(err.message, "nvrtc"));
}

static void test_version(void **state) {
  (void)state;
  struct nvrtc *n = open_or_skip();
  int major, minor, count;
  nvrtc_version(n, &major, &minor);
  assert_in_range(major, 11, 99);
  assert_in_range(minor, 0, 99);
  const int *list = nvrtc_architectures(n, &count);
  assert_true(count > 2);
  for (int i = 1; i < count; i++)
    assert_true(list[i] > list[i - 1]);
  assert_true(nvrtc_supports(n, 90));
  assert_false(nvrtc_supports(n, 7));
  assert_non_null(strstr(nvrtc_path(n), "nvrtc"));
  nvrtc_close(n);
}

static void test_compile(void **state) {
  (void)state;
  struct nvrtc *n = open_or_skip();
  struct assay_error err = {0};
  struct nvrtc_result r = {0};
  struct nvrtc_request q = {.source = "extern \"C\" __global__ void f(float *x) { x[threadIdx.x] *= 2; }\n"
                                      "template <int N> __global__ void g(int *x) { x[0] = N; }\n"
                                      "namespace a { __global__ void h() {} }\n",
                            .name = "good.cu",
                            .options = options,
                            .expressions = (const char *const[]){"g<3>", "a::h", NULL}};
  assert_int_equal(nvrtc_compile(n, &q, &r, &err), ASSAY_OK);
  assert_true(r.compiled);
  assert_memory_equal(r.code, "\177ELF", 4);
  assert_true(r.code_bytes > 500);
  assert_string_equal(r.lowered[0], "_Z1gILi3EEvPi");
  assert_string_equal(r.lowered[1], "_ZN1a1hEv");
  nvrtc_result_release(&r);

  // A virtual architecture gives PTX.
  q.options = (const char *const[]){"--gpu-architecture=compute_90", NULL};
  q.expressions = NULL;
  assert_int_equal(nvrtc_compile(n, &q, &r, &err), ASSAY_OK);
  assert_true(r.compiled);
  assert_non_null(strstr(r.code, ".target sm_90"));
  nvrtc_result_release(&r);
  nvrtc_close(n);
}

// The source's fault is a result, the caller's an error.
static void test_wrong(void **state) {
  (void)state;
  struct nvrtc *n = open_or_skip();
  struct assay_error err = {0};
  struct nvrtc_result r = {0};
  struct nvrtc_request q = {
      .source = "__global__ void f() { undeclared(); }\n", .name = "wrong.cu", .options = options};
  assert_int_equal(nvrtc_compile(n, &q, &r, &err), ASSAY_OK);
  assert_false(r.compiled);
  assert_null(r.code);
  assert_non_null(strstr(r.log, "wrong.cu(1): error"));
  assert_non_null(strstr(r.log, "undeclared"));
  nvrtc_result_release(&r);

  q.source = "__global__ void f() {}\n";
  q.expressions = (const char *const[]){"nothing_of_the_sort", NULL};
  assert_int_equal(nvrtc_compile(n, &q, &r, &err), ASSAY_OK);
  assert_false(r.compiled);
  nvrtc_result_release(&r);

  q.expressions = NULL;
  q.options = (const char *const[]){"--gpu-architecture=sm_90", "--no-such-option", NULL};
  assert_int_equal(nvrtc_compile(n, &q, &r, &err), ASSAY_ERR_INVALID);
  assert_non_null(strstr(err.message, "no-such-option"));
  nvrtc_close(n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_missing),
      cmocka_unit_test(test_version),
      cmocka_unit_test(test_compile),
      cmocka_unit_test(test_wrong),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
