// SPDX-License-Identifier: Apache-2.0
// The table of candidate forms, and what strings of options mean by it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "device/device.h"
#include "judge/form.h"
#include "judge/subject.h"

static const struct form *form(const char *path, const struct plan_device *device, bool gpu) {
  const struct form *f = NULL;
  struct assay_error err = {0};
  if (form_of(path, device, gpu, &f, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  return f;
}

static void test_devices(void **state) {
  (void)state;
  const struct plan_device *device;
  struct assay_error err = {0};
  char text[128];
  for (int i = 0; plan_device_at(i); i++) {
    assert_int_equal(plan_device_parse(plan_device_at(i)->name, &device, &err), ASSAY_OK);
    assert_ptr_equal(device, plan_device_at(i));
    assert_int_equal(device_of(device) != NULL, device->dialect != PLAN_NO_LAUNCHES);
  }
  assert_string_equal(plan_device_names(false, text, sizeof text), "cpu, cuda, opencl");
  assert_string_equal(plan_device_names(true, text, sizeof text), "cuda, opencl");
  assert_int_equal(plan_device_parse("metal", &device, &err), ASSAY_ERR_USAGE);
  assert_string_equal(err.message, "a device is cpu, cuda or opencl, not 'metal'");
}

static void test_forms(void **state) {
  (void)state;
  for (int i = 0; form_at(i); i++) {
    const struct form *row = form_at(i);
    char path[64];
    snprintf(path, sizeof path, "folder/relu%s", row->ending);
    const struct form *found = form(path, row->device, false);
    assert_string_equal(found->ending, row->ending);
    assert_ptr_equal(found->device, row->device);
    assert_ptr_equal(found->subject, row->subject);
    assert_true(row->language && row->subject);
    assert_int_equal(row->subject == &subject_plan, row->device->dialect != PLAN_NO_LAUNCHES);
  }
  assert_ptr_equal(form("a.c", NULL, true)->device, &plan_device_cpu);
  assert_ptr_equal(form("a.cu", NULL, false)->device, &plan_device_cuda);
  assert_ptr_equal(form("a.cl", NULL, false)->device, &plan_device_opencl);
  assert_ptr_equal(form("a.library", NULL, false)->device, &plan_device_cuda);
  assert_ptr_equal(form("a.py", NULL, true)->device, &plan_device_cuda);
  assert_ptr_equal(form("a.py", NULL, false)->device, &plan_device_cpu);
  assert_ptr_equal(form("a.py", &plan_device_cuda, false)->device, &plan_device_cuda);
  assert_ptr_equal(form("a.py", &plan_device_opencl, true)->device, &plan_device_cuda);
  assert_ptr_equal(form("a.cu", &plan_device_cpu, true)->device, &plan_device_cuda);
}

static void test_names(void **state) {
  (void)state;
  const struct form *f = NULL;
  struct assay_error err = {0};
  char text[256];
  assert_string_equal(form_names(NULL, text, sizeof text),
                      ".c (cpu), .cu (cuda), .cl (opencl), .py (cuda, cpu), .library (cuda)");
  assert_string_equal(form_names(&plan_device_cpu, text, sizeof text), ".c, .py");
  assert_string_equal(form_names(&plan_device_cuda, text, sizeof text), ".cu, .py, .library");
  assert_int_equal(form_of("relu.jl", NULL, true, &f, &err), ASSAY_ERR_USAGE);
  assert_non_null(strstr(err.message, "relu.jl: candidates are .c (cpu), .cu"));
  assert_null(f);
}

static void test_choice(void **state) {
  (void)state;
  static const struct {
    const char *candidate, *device, *toolchain, *mode, *error;
    const struct subject_ops *subject;
  } cases[] = {
      {"a.c", "cpu", NULL, NULL, NULL, &subject_cpu},
      {"a.cu", "cuda", "nvcc", NULL, NULL, &subject_plan},
      {"a.cu", "cuda", NULL, "process", NULL, &subject_plan},      // which only Python modules can be
      {"a.py", "cuda", "nvcc", "process", NULL, &subject_process}, // the toolchain is for .cu files
      {"a.py", "cpu", NULL, "plan", NULL, &subject_cpu},
      {"a.cu", "metal", NULL, NULL, "a device is cpu, cuda or opencl, not 'metal'", NULL},
      {"a.cu", "cuda", "clang", NULL, "a toolchain to choose is nvrtc or nvcc, not 'clang'", NULL},
      {"a.cl", "opencl", "opencl", NULL, "a toolchain to choose is nvrtc or nvcc, not 'opencl'", NULL},
      {"a.py", "cuda", NULL, "graph", "a mode is plan or process, not 'graph'", NULL},
      {"a.cl", "cuda", NULL, NULL, "a.cl does not run on device cuda, which takes .cu, .py, .library files", NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct assay_judge_options o;
    struct form_choice choice;
    struct assay_error err = {0};
    assay_judge_defaults(&o);
    o.candidate = cases[i].candidate;
    o.device = cases[i].device;
    o.toolchain = cases[i].toolchain;
    o.mode = cases[i].mode;
    enum assay_status status = form_choose(&o, &choice, &err);
    assert_int_equal(status, cases[i].error ? ASSAY_ERR_USAGE : ASSAY_OK);
    assert_string_equal(err.message, cases[i].error ? cases[i].error : "");
    if (!status) {
      assert_ptr_equal(choice.toolchain, i == 1 ? &toolchain_nvcc : NULL);
      assert_ptr_equal(form_subject(&choice), cases[i].subject);
    }
  }
}

// An unknown device is refused before anything is opened or built.
static void test_judge_refuses(void **state) {
  (void)state;
  struct assay_judge_options o;
  struct assay_verdict v;
  struct assay_workbench *bench = NULL;
  struct assay_error err = {0};
  assay_judge_defaults(&o);
  o.task = "no/such.onnxtxt";
  o.candidate = "a.cu";
  o.device = "metal";
  assert_int_equal(assay_judge(&o, &v, &err), ASSAY_ERR_USAGE);
  assert_non_null(strstr(err.message, "not 'metal'"));
  assert_int_equal(assay_workbench_open(&o, false, &bench, &err), ASSAY_ERR_USAGE);
  assert_null(bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_devices), cmocka_unit_test(test_forms),         cmocka_unit_test(test_names),
      cmocka_unit_test(test_choice),  cmocka_unit_test(test_judge_refuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
