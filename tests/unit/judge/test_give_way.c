// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=subject_give_way
// Before each question of an exam others may have the device.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "assay/judge.h"
#include "judge/subject.h"

static int asked;

void __real_subject_give_way(struct subject *s);
void __wrap_subject_give_way(struct subject *s);
void __wrap_subject_give_way(struct subject *s) {
  asked++;
  __real_subject_give_way(s);
}

static void test_between_questions(void **state) {
  (void)state;
  struct assay_judge_options o;
  struct assay_verdict v = {0};
  struct assay_error err = {0};
  const struct assay_paths paths = {.proc = ASSAY_SOURCE_DIR "/tests/support/quiet",
                                    .runner = ASSAY_BINARY_DIR "/assay-runner",
                                    .include = ASSAY_SOURCE_DIR "/include",
                                    .path_env = getenv("PATH"),
                                    .temporary = "/tmp"};
  assay_judge_defaults(&o);
  o.task = ASSAY_SOURCE_DIR "/tasks/kernelbench/level1/019_relu.onnxtxt";
  o.candidate = ASSAY_SOURCE_DIR "/tests/cases/relu.c";
  o.paths = &paths;
  o.threads = 1;
  o.timing = false;
  if (assay_judge(&o, &v, &err))
    fail_msg("%s", err.message);
  assert_int_equal(v.reason, ASSAY_REASON_PASS);
  assert_true(v.n_checks > 4);
  assert_int_equal(asked, v.n_checks + v.n_skipped_probes);
  assay_verdict_release(&v);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_between_questions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
