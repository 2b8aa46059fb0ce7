// SPDX-License-Identifier: Apache-2.0
// What probes say about a GPU that another program uses, with made-up times; and what an exception of PyTorch's
// says about it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "judge/gpu_probe.h"
#include "runner/classify.h"

enum { MOST = 16, US = 1000 };

struct script {
  int64_t us[MOST]; // of the probes; the last of them again and again
  enum gpu_probe_kind kind;
  int n;
  bool fails;
};

static enum assay_status run(void *arg, enum gpu_probe_kind kind, int64_t *ns, struct assay_error *err) {
  struct script *s = arg;
  assert_int_equal(kind, s->kind);
  int i = s->n++;
  while (i > 0 && (i >= MOST || s->us[i] == 0))
    i--;
  *ns = s->us[i] * US;
  return s->fails ? error_set(err, ASSAY_ERR_ENVIRONMENT, "the GPU is gone") : ASSAY_OK;
}

static struct gpu_probe probe_of(struct script *s, double usual_us) {
  struct gpu_probe p = {.run = run, .arg = s};
  p.usual_ns[s->kind] = usual_us * US;
  return p;
}

enum found { QUIET, SLOW, BUSY };

static enum found look(struct script s, double usual_us, int *probes) {
  bool slow = false, busy = false;
  int64_t ns = 0;
  struct assay_error err = {0};
  struct gpu_probe p = probe_of(&s, usual_us);
  assert_int_equal(gpu_probe_before(&p, &slow, &busy, &ns, &err), ASSAY_OK);
  *probes = s.n;
  return busy ? BUSY : slow ? SLOW : QUIET;
}

static void before_a_call(void **state) {
  (void)state;
  int n;
  assert_int_equal(look((struct script){.us = {2000}}, 0, &n), QUIET); // nobody knows yet what is usual
  assert_int_equal(look((struct script){.us = {200}}, 200, &n), QUIET);
  assert_int_equal(look((struct script){.us = {290}}, 200, &n), QUIET); // less than half as much again
  assert_int_equal(look((struct script){.us = {90}}, 10, &n), QUIET);   // less than 0.1 ms
  assert_int_equal(n, 1);
  assert_int_equal(look((struct script){.us = {2000, 210}}, 200, &n), SLOW); // the host was late once
  assert_int_equal(n, 2);
  assert_int_equal(look((struct script){.us = {2000, 1500, 900, 210}}, 200, &n), SLOW); // it wakes
  assert_int_equal(n, 4);
}

static void what_goes_on_and_on_is_somebodys(void **state) {
  (void)state;
  int n;
  int64_t start_ns = clock_monotonic_ns();
  assert_int_equal(look((struct script){.us = {2000}}, 200, &n), BUSY);
  assert_true(n > 1);
  assert_true(clock_monotonic_ns() - start_ns >= 1000000000);
}

static void a_call_ends_with_the_last_slow_one(void **state) {
  (void)state;
  struct assay_error err = {0};
  int64_t end_ns = 0, ns = 0, start_ns = clock_monotonic_ns();
  bool late = true;
  struct script quick = {.us = {30}, .kind = GPU_PROBE_SMALL}, slow = {.us = {900, 1700, 40}, .kind = GPU_PROBE_SMALL};
  struct gpu_probe p = probe_of(&quick, 30);
  assert_int_equal(gpu_probe_after(&p, start_ns + 1000000000, &end_ns, &ns, &late, &err), ASSAY_OK);
  assert_int_equal(quick.n, 1);
  assert_int_equal(ns, 30 * US);
  assert_false(late);
  assert_true(end_ns >= start_ns && end_ns <= clock_monotonic_ns());
  p = probe_of(&slow, 30);
  assert_int_equal(gpu_probe_after(&p, start_ns + 1000000000, &end_ns, &ns, &late, &err), ASSAY_OK);
  assert_int_equal(slow.n, 3);
  assert_false(late);
}

static void what_never_ends_is_late(void **state) {
  (void)state;
  struct assay_error err = {0};
  int64_t end_ns = 0, ns = 0;
  bool late = false;
  struct script s = {.us = {2000}, .kind = GPU_PROBE_SMALL};
  struct gpu_probe p = probe_of(&s, 30);
  assert_int_equal(gpu_probe_after(&p, clock_monotonic_ns() + 2000000, &end_ns, &ns, &late, &err), ASSAY_OK);
  assert_true(late);
}

static bool is_anothers(struct script s, enum assay_status expected) {
  bool others = false;
  struct assay_error err = {0};
  struct gpu_probe p = probe_of(&s, 200);
  assert_int_equal(gpu_probe_whose(&p, &others, &err), expected);
  return others;
}

// What goes on when the candidate has ended is not its work; what ends with it was.
static void whose_work_it_was(void **state) {
  (void)state;
  int64_t start_ns = clock_monotonic_ns();
  assert_true(is_anothers((struct script){.us = {2000}}, ASSAY_OK));
  assert_true(clock_monotonic_ns() - start_ns < 900000000); // no need to look any longer
  start_ns = clock_monotonic_ns();
  assert_false(is_anothers((struct script){.us = {200}}, ASSAY_OK));
  assert_true(clock_monotonic_ns() - start_ns >= 1000000000);
  assert_false(is_anothers((struct script){.us = {2000, 2000, 200}}, ASSAY_OK)); // until the driver has ended it
  assert_false(is_anothers((struct script){.us = {200}, .fails = true}, ASSAY_ERR_ENVIRONMENT));
}

static void a_gpu_that_fails_is_no_candidates_fault(void **state) {
  (void)state;
  struct assay_error err = {0};
  int64_t end_ns = 0, ns = 0;
  bool flag = false;
  struct script s = {.us = {2000}, .fails = true};
  struct gpu_probe p = probe_of(&s, 30);
  bool slow = true;
  assert_int_equal(gpu_probe_before(&p, &slow, &flag, &ns, &err), ASSAY_ERR_ENVIRONMENT);
  assert_false(flag || slow);
  s.kind = GPU_PROBE_SMALL;
  p = probe_of(&s, 30);
  assert_int_equal(gpu_probe_after(&p, INT64_MAX, &end_ns, &ns, &flag, &err), ASSAY_ERR_ENVIRONMENT);
}

static enum runner_event event_of(const char *words) {
  struct runner_report r = {.event = RUNNER_RAISED};
  snprintf(r.detail, sizeof r.detail, "%s", words);
  classify_raised(&r);
  assert_string_equal(r.detail, words);
  return r.event;
}

static void exceptions_that_the_gpu_caused(void **state) {
  (void)state;
  assert_int_equal(event_of("AcceleratorError: CUDA error: an illegal memory access was encountered CUDA kernel errors "
                            "might be asynchronously reported"),
                   RUNNER_CRASHED);
  assert_int_equal(event_of("OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."), RUNNER_OUT_OF_MEMORY);
  assert_int_equal(event_of("RuntimeError: CUDA error: invalid configuration argument"), RUNNER_LAUNCH_FAILED);
  assert_int_equal(event_of("ValueError: it will not (line 3)"), RUNNER_RAISED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(before_a_call),
      cmocka_unit_test(what_goes_on_and_on_is_somebodys),
      cmocka_unit_test(a_call_ends_with_the_last_slow_one),
      cmocka_unit_test(what_never_ends_is_late),
      cmocka_unit_test(whose_work_it_was),
      cmocka_unit_test(a_gpu_that_fails_is_no_candidates_fault),
      cmocka_unit_test(exceptions_that_the_gpu_caused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
