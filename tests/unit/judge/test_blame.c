// SPDX-License-Identifier: Apache-2.0
// A candidate that found no memory on a GPU which others had is not to blame.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "judge/blame.h"
#include "judge/load.h"
#include "judge/session.h"
#include "sandbox/sandbox.h"

static const size_t GB = 1000000000;

static void words_of_those_that_found_none(void **state) {
  (void)state;
  static const char *const about[] = {
      "candidate.py:14:1: error: OutOfMemoryError: CUDA out of memory. Tried to allocate 32.00 GiB. GPU 0 has",
      "the device has no memory for two sets of the task's tensors, which recording takes",
      "a.py:1:1: error: the device has no memory left for what it allocates while it is recorded, and without that it "
      "raised "
      "AcceleratorError: CUDA error: an illegal memory access was encountered",
      "RuntimeError: The tensor has a non-zero number of elements, but its data is not allocated yet. If you're",
      "RuntimeError: GET was unable to find an engine to execute this computation",
      "cuBLAS error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)"};
  for (size_t i = 0; i < sizeof about / sizeof *about; i++) {
    assert_true(blame_lacks_memory(ASSAY_REASON_RAISED, about[i]));
    assert_true(blame_lacks_memory(ASSAY_REASON_LOAD_FAILED, about[i]));
    assert_false(blame_lacks_memory(ASSAY_REASON_WRONG_VALUE, about[i]));
    assert_false(blame_lacks_memory(ASSAY_REASON_PASS, about[i]));
  }
  assert_false(blame_lacks_memory(ASSAY_REASON_RAISED, "CUDA error: an illegal memory access was encountered"));
  assert_false(blame_lacks_memory(ASSAY_REASON_RAISED, "ValueError: 3 is not in range"));
}

static void others_have_what_is_neither_free_nor_ours(void **state) {
  (void)state;
  assert_int_equal(blame_others(&(struct compute_memory){.total = 80 * GB, .available = 79 * GB}), 0);
  assert_int_equal(blame_others(&(struct compute_memory){.total = 80 * GB, .available = 71 * GB}), 0);
  assert_int_equal(blame_others(&(struct compute_memory){.total = 80 * GB, .available = 60 * GB}), 20 * GB);
  assert_int_equal(blame_others(&(struct compute_memory){.total = 80 * GB, .available = 2 * GB, .in_use = 70 * GB}), 0);
  assert_int_equal(blame_others(&(struct compute_memory){.total = 8 * GB, .available = 5 * GB}), 0);
  assert_int_equal(blame_others(&(struct compute_memory){.total = 8 * GB, .available = 3 * GB}), 5 * GB);
  assert_int_equal(blame_others(&(struct compute_memory){.total = 8 * GB, .available = 9 * GB}), 0);
}

static char proc[] = "/tmp/proc.XXXXXX";

static void write_vmstat(const char *text) {
  char path[64];
  snprintf(path, sizeof path, "%s/vmstat", proc);
  FILE *f = fopen(path, "we");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

// Whether a candidate in C that ended so is judged, where the kernel had ended `before` processes when it began.
static bool is_judged(enum assay_reason reason, int64_t before, struct assay_error *err) {
  const struct assay_paths paths = {.proc = proc};
  const struct assay_judge_options options = {.paths = &paths};
  struct assay_verdict v = {.reason = reason, .detail = "ended by KILL with its memory used up"};
  const struct form form = {.device = &plan_device_cpu};
  struct session s = {.v = &v, .o = &options, .choice = {.form = &form}, .oom_kills = before};
  enum assay_status status = session_blame_machine(&s, err);
  assert_true(status == ASSAY_OK || status == ASSAY_ERR_ENVIRONMENT);
  return status == ASSAY_OK;
}

static void what_the_kernel_ended_is_nobodys_failure(void **state) {
  struct assay_error err = {0};
  (void)state;
  assert_non_null(mkdtemp(proc));
  assert_int_equal(load_oom_kills(proc), -1);
  assert_true(is_judged(ASSAY_REASON_OUT_OF_MEMORY, -1, &err)); // unknown
  write_vmstat("nr_free_pages 5055\noom_kill 3\npgfault 7\n");
  assert_int_equal(load_oom_kills(proc), 3);
  assert_true(is_judged(ASSAY_REASON_OUT_OF_MEMORY, 3, &err));
  assert_true(is_judged(ASSAY_REASON_OUT_OF_MEMORY, -1, &err));
  assert_true(is_judged(ASSAY_REASON_WRONG_VALUE, 2, &err));
  assert_true(is_judged(ASSAY_REASON_TIMEOUT, 2, &err));
  assert_false(is_judged(ASSAY_REASON_BUILD_LIMIT, 1, &err));
  assert_non_null(strstr(err.message, "its kernel ended 2 processes meanwhile (it ended as build_limit: "));
  assert_false(is_judged(ASSAY_REASON_OUT_OF_MEMORY, 2, &err));
  assert_non_null(strstr(err.message, "ended 1 process meanwhile (it ended as out_of_memory: ended by KILL"));
  write_vmstat("");
  assert_int_equal(load_oom_kills(proc), -1);
  char path[64];
  snprintf(path, sizeof path, "%s/vmstat", proc);
  unlink(path);
  rmdir(proc);
}

// A limit of this process's that is narrower than what the runner set, though wide enough for most.
static void the_limit_is_what_the_runner_wanted(void **state) {
  (void)state;
  const size_t gib = (size_t)1 << 30;
  const struct assay_paths paths = {.proc = "/nowhere"};
  const struct assay_judge_options options = {.paths = &paths, .runner_memory_bytes = gib};
  const struct form form = {.device = &plan_device_cpu};
  const struct subject_ops ops = {0};
  struct assay_verdict v = {.reason = ASSAY_REASON_OUT_OF_MEMORY, .detail = "ended by ABRT"};
  struct subject subject = {.ops = &ops, .found.wanted_bytes = 200 * gib};
  struct session s = {
      .v = &v, .o = &options, .choice = {.form = &form}, .subject = &subject, .oom_kills = -1, .lost = sandbox_lost()};
  struct assay_error err = {0};
  pid_t child = fork(); // a hard limit is not raised again
  if (child == 0) {
    const struct rlimit narrow = {100 * gib, 100 * gib};
    bool good = setrlimit(RLIMIT_AS, &narrow) == 0 && session_blame_machine(&s, &err) == ASSAY_ERR_ENVIRONMENT &&
                strstr(err.message, "narrower limit than kernels may have (ulimit -v is");
    subject.found.wanted_bytes = 50 * gib;
    _exit(good && session_blame_machine(&s, &err) == ASSAY_OK ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

// Something else in the process collected what ended: whatever the candidate is said to have done, nobody knows.
static void what_nobody_saw_end_is_not_judged(void **state) {
  (void)state;
  const struct assay_paths paths = {.proc = "/nowhere"};
  const struct assay_judge_options options = {.paths = &paths};
  const struct form form = {.device = &plan_device_cpu};
  struct assay_verdict v = {.reason = ASSAY_REASON_CRASHED, .detail = "ended by SIG?"};
  struct session s = {.v = &v, .o = &options, .choice = {.form = &form}, .oom_kills = -1, .lost = sandbox_lost()};
  struct assay_error err = {0};
  assert_int_equal(session_blame_machine(&s, &err), ASSAY_OK);
  s.lost--;
  assert_int_equal(session_blame_machine(&s, &err), ASSAY_ERR_ENVIRONMENT);
  assert_non_null(strstr(err.message, "nobody knows how the candidate ended (crashed: ended by SIG?)"));
  v.reason = ASSAY_REASON_PASS;
  assert_int_equal(session_blame_machine(&s, &err), ASSAY_OK);
}

// A crash that says nothing of threads stands where the kernel's own can be started.
static void threads_are_asked_for_by_what_is_said(void **state) {
  (void)state;
  struct assay_verdict v = {.reason = ASSAY_REASON_CRASHED, .detail = "ended by SEGV at address 0x10"};
  char said[] = "libgomp: Thread creation failed: Resource temporarily unavailable";
  assert_int_equal(blame_threads_asked(&v, "", 64), 64);
  assert_int_equal(blame_threads_asked(&v, said, 64), 132);
  v.diagnostics = said;
  assert_int_equal(blame_threads_asked(&v, "", 64), 132);
  v.reason = ASSAY_REASON_WRONG_VALUE;
  assert_int_equal(blame_threads_asked(&v, "", 64), 0);
  v = (struct assay_verdict){.reason = ASSAY_REASON_RAISED, .detail = "RuntimeError: can't start new thread"};
  assert_int_equal(blame_threads_asked(&v, "", 8), 20);
  v = (struct assay_verdict){.reason = ASSAY_REASON_EXITED, .detail = "exit code 1"};
  assert_int_equal(blame_threads_asked(&v, "", 8), 8);
  v = (struct assay_verdict){.reason = ASSAY_REASON_BUILD_LIMIT, .detail = "vfork: Resource temporarily unavailable"};
  assert_int_equal(blame_threads_asked(&v, "", 8), 20);
  assert_int_equal(blame_threads_asked(&v, "", 1), 8);
  v.detail[0] = '\0'; // of memory, or output
  assert_int_equal(blame_threads_asked(&v, "", 8), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(threads_are_asked_for_by_what_is_said),
                                     cmocka_unit_test(the_limit_is_what_the_runner_wanted),
                                     cmocka_unit_test(what_the_kernel_ended_is_nobodys_failure),
                                     cmocka_unit_test(what_nobody_saw_end_is_not_judged),
                                     cmocka_unit_test(words_of_those_that_found_none),
                                     cmocka_unit_test(others_have_what_is_neither_free_nor_ours)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
