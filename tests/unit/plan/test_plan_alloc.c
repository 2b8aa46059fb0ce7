// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=base_realloc
// Every allocation of the plan module fails once: the answer is always "out of memory", and nothing leaks (the
// sanitizer build sees to that).
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "fail_each.h"
#include "plan_sample.h"

static enum assay_status parse(void *arg, struct assay_error *err) {
  const struct buf *text = arg;
  struct plan p;
  enum assay_status status = plan_parse(text->data, text->len, &p, err);
  if (!status)
    plan_release(&p);
  return status;
}

static enum assay_status check(void *arg, struct assay_error *err) {
  struct plan_limits limits;
  plan_limits_of_target("sm_90", &limits);
  return plan_check(arg, &limits, NULL, err);
}

static enum assay_status print(void *arg, struct assay_error *err) {
  struct buf b = {0};
  enum assay_status status = plan_print(arg, &b, err);
  buf_release(&b);
  return status;
}

static enum assay_status print_json(void *arg, struct assay_error *err) {
  struct buf b = {0};
  enum assay_status status = plan_print_json(arg, &b, err);
  buf_release(&b);
  return status;
}

static enum assay_status export(void *arg, struct assay_error *err) {
  return plan_export(arg, "/tmp/test_plan_alloc", "sample", err);
}

static void test_allocations(void **state) {
  (void)state;
  struct plan p;
  struct buf text = {0};
  struct assay_error err = {0};
  sample_plan(&p);
  assert_int_equal(plan_print_json(&p, &text, &err), ASSAY_OK);
  fail_each(parse, &text, 1);
  fail_each(check, &p, 1);
  fail_each(print, &p, 3);
  fail_each(print_json, &p, 3);
  fail_each(export, &p, 8);
  buf_release(&text);
  plan_release(&p);
  assert_int_equal(system("rm -r /tmp/test_plan_alloc"), 0);
}

// PTX and SPIR-V take memory for names.
static void test_names(void **state) {
  (void)state;
  struct plan p;
  struct buf ptx = {0};
  sample_plan(&p);
  for (int i = 0; i < 5000; i++)
    buf_printf(&ptx, ".entry kernel_%d ", i);
  *p.modules = (struct plan_module){"m", PLAN_PTX, (const uint8_t *)ptx.data, ptx.len, ""};
  p.n_steps = 0;
  p.n_prepare = 0;
  p.buffers[SAMPLE_Y].role = PLAN_SCRATCH;
  fail_each(check, &p, 5);
  buf_release(&ptx);
  plan_release(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_allocations), cmocka_unit_test(test_names)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
