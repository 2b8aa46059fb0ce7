// SPDX-License-Identifier: Apache-2.0
// A candidate in the runner's place (tests/cheats/before_the_clock.c), which works before it says that it is at the
// start line, with the judge's own side of the protocol. The way there is given all the time that it wants, as on a
// machine that makes every process wait: then only the processor time that the work took is left to charge it with.
// modules: runner
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/runner.h"

enum { BATCH = 4, ROWS = 2048, COLUMNS = 255 };

static struct tensor_type floats(int64_t rows) {
  return (struct tensor_type){.dtype = DTYPE_FLOAT, .shape = {.rank = 3, .dims = {BATCH, rows, COLUMNS}}};
}

// The least that the impostor says its work took.
static int64_t least_work(const char *log) {
  int64_t least = INT64_MAX;
  for (const char *line = strstr(log, "work "); line; line = strstr(line + 1, "work ")) {
    const int64_t ns = strtoll(line + 5, NULL, 10);
    least = ns < least ? ns : least;
  }
  return least;
}

static void work_before_the_clock_is_charged(void **state) {
  (void)state;
  enum { CALLS = 3, SECOND = 1000000000, FIRST_NS = 500000 };
  char folder[] = "/tmp/assay-impostor-XXXXXX";
  const struct tensor_type in = floats(ROWS), out = floats(1);
  const struct runner_options o = {.program = ASSAY_BINARY_DIR "/assay-runner",
                                   .library = ASSAY_BINARY_DIR "/impostor.so",
                                   .folder = folder,
                                   .threads = 1,
                                   .load_timeout_ns = 60LL * SECOND,
                                   .call_timeout_ns = 60LL * SECOND,
                                   .memory_bytes = (size_t)1 << 30};
  const struct runner_usual usual[RUNNER_CACHES] = {{60LL * SECOND, FIRST_NS}, {60LL * SECOND, FIRST_NS}};
  struct assay_error err = {0};
  struct runner_report report;
  struct runner *r = NULL;
  assert_non_null(mkdtemp(folder));
  if (runner_open(&o, &r, &err) || runner_load(r, usual, &report, &err))
    fail_msg("%s", err.message);
  assert_string_equal(runner_event_name(report.event), "ok");
  assert_int_equal(runner_bind(r, 1, &in, 1, &out, &report, &err), ASSAY_OK);
  for (int call = 0; call < CALLS; call++) {
    float *x = runner_input(r, 0);
    for (int i = 0; i < BATCH * ROWS * COLUMNS; i++)
      x[i] = (float)(i % 7 + call);
    runner_poison(r, 0x7fc00000);
    assert_int_equal(runner_call(r, call % 2 ? RUNNER_HOT : RUNNER_COLD, false, &report, &err), ASSAY_OK);
    if (report.event != RUNNER_OK)
      fail_msg("call %d: %s: %s", call, runner_event_name(report.event), report.detail);
    const int64_t work_ns = least_work(runner_log(r));
    assert_true(work_ns < INT64_MAX && work_ns > 2 * FIRST_NS);
    assert_true(report.elapsed_ns >= work_ns - FIRST_NS); // however early the answer was there
  }
  runner_close(r);
  rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(work_before_the_clock_is_charged)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
