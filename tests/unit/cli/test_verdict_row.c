// SPDX-License-Identifier: Apache-2.0
// A verdict makes the same row from the judge's structure and from the evidence in the store, and no row says nan or
// inf.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/judging.h"
#include "judge/record.h"
#include "sandbox/sandbox.h"
#include "task/task.h"

#define CASES ASSAY_SOURCE_DIR "/tests/cases/"

static char *folder, *task;
static struct store *store;
static struct cli_judging judging;

static int setup(void **state) {
  (void)state;
  char path[4096];
  struct assay_error err = {0};
  if (sandbox_folder_make("/tmp", &folder, &err) != ASSAY_OK || cli_judging_init(&judging, &err) != ASSAY_OK ||
      task_find(ASSAY_SOURCE_DIR "/tasks", "kernelbench/1/19", &task, &err) != ASSAY_OK)
    return -1;
  cli_judging_finish(&judging, NULL);
  judging.paths.judge.proc = ASSAY_SOURCE_DIR "/tests/support/quiet"; // whatever the machine does
  judging.options.task = task;
  judging.options.probes = false;
  judging.options.max_samples = 20;
  judging.options.min_samples = 10;
  snprintf(path, sizeof path, "%s/store.sqlite", folder);
  return store_open(path, &store, &err) == ASSAY_OK ? 0 : -1;
}

static int teardown(void **state) {
  (void)state;
  store_close(store);
  cli_judging_close(&judging);
  sandbox_folder_remove(folder);
  base_free(folder);
  base_free(task);
  return 0;
}

static const char *file_with(const char *name, const char *text) {
  static char path[4096];
  struct assay_error err = {0};
  snprintf(path, sizeof path, "%s/%s", folder, name);
  assert_int_equal(file_write(path, text, strlen(text), &err), ASSAY_OK);
  return path;
}

static enum assay_status try_judge(const char *candidate, bool timing, struct assay_verdict *v,
                                   struct assay_error *err) {
  enum assay_status status = cli_use_candidate(&judging, candidate, false, err);
  judging.options.timing = timing;
  return status ? status : assay_judge(&judging.options, v, err);
}

static void judge(const char *candidate, bool timing, struct assay_verdict *v) {
  struct assay_error err = {0};
  if (try_judge(candidate, timing, v, &err) != ASSAY_OK)
    fail_msg("%s: %s", candidate, err.message);
}

// What was measured depends on what else the machine does.
static void set_time(struct assay_verdict *v, double ns) {
  v->timing.measured = true;
  v->timing.unstable = v->timing.suspicious = false;
  v->timing.median_ns = ns;
  v->timing.low_ns = 0.95 * ns;
  v->timing.high_ns = 1.05 * ns;
  v->detail[0] = '\0';
}

// The view's row and header, as printed; heap.
static char *row_of(const struct verdict_view *view, bool speedups) {
  char *text = NULL;
  size_t n = 0;
  FILE *to = open_memstream(&text, &n);
  struct table *t = cli_verdict_table(speedups, CLI_COLOR_NEVER);
  assert_true(to && t);
  cli_verdict_row(t, speedups, view);
  table_print(t, to);
  table_destroy(t);
  fclose(to);
  return text;
}

struct comparison {
  const struct verdict_view *live;
  char *row, *wide;
  int n;
};

// The stored verdict's view against the judge's.
static bool compare(void *arg, const struct store_verdict *v) {
  struct comparison *c = arg;
  struct verdict_view stored;
  struct assay_error err = {0};
  assert_int_equal(view_from_store(v, &stored, &err), ASSAY_OK);
  char *row = row_of(&stored, false), *wide = row_of(&stored, true);
  assert_string_equal(row, c->row);
  assert_string_equal(wide, c->wide);
  assert_string_equal(stored.worst, c->live->worst);
  assert_string_equal(stored.diagnostics, c->live->diagnostics);
  assert_true(stored.overhead_ns == c->live->overhead_ns);
  assert_int_equal(stored.n_baselines, c->live->n_baselines);
  for (int i = 0; i < stored.n_baselines; i++)
    assert_string_equal(stored.baselines[i].detail, c->live->baselines[i].detail);
  free(row);
  free(wide);
  view_release(&stored);
  c->n++;
  return true;
}

// Stores the verdict and compares the two rows. `want` is part of the row, `never` is not; NULL: whatever.
static void check(const struct assay_verdict *v, const char *candidate, const char *want, const char *never) {
  static int number;
  char run[32];
  struct assay_error err = {0};
  struct store_verdict key;
  struct verdict_view live;
  snprintf(run, sizeof run, "run %d", number++);
  record_key(run, &judging.options, v->task_name, candidate, v->candidate_hash, v->settings_hash, &key);
  assert_int_equal(record_put(store, &key, v, "assay judge", &err), ASSAY_OK);
  assert_int_equal(view_from_verdict(v, candidate, &live, &err), ASSAY_OK);
  struct comparison c = {.live = &live, .row = row_of(&live, false), .wide = row_of(&live, true)};
  assert_int_equal(store_each(store, run, compare, &c, &err), ASSAY_OK);
  assert_int_equal(c.n, 1);
  if (strstr(c.wide, "nan") || strstr(c.wide, "inf"))
    fail_msg("a row says nan or inf:\n%s", c.wide);
  if (want && !strstr(c.wide, want))
    fail_msg("no \"%s\" in:\n%s", want, c.wide);
  if (never && strstr(c.wide, never))
    fail_msg("\"%s\" in:\n%s", never, c.wide);
  free(c.row);
  free(c.wide);
  view_release(&live);
}

static void test_failures(void **state) {
  (void)state;
  struct assay_verdict v;
  judge(CASES "sigmoid.c", false, &v);
  assert_int_not_equal(v.reason, ASSAY_REASON_PASS);
  check(&v, "sigmoid.c", "wrong", NULL);
  v.checks[v.worst_check].gate_z = INFINITY;
  check(&v, "sigmoid.c", "-/", NULL);
  struct assay_check *c = &v.checks[v.worst_check];
  snprintf(c->gate, sizeof c->gate, "rms");
  c->gate_z = 6.71;
  c->gate_limit = 5.4;
  check(&v, "sigmoid.c", "rms 6.7/5.4", NULL);
  assay_verdict_release(&v);
  judge(file_with("broken.c", "int broken("), true, &v);
  check(&v, "a folder/broken.c", "broken.c   build_failed", NULL);
  check(&v, "a folder/broken.c", "  a folder/broken.c:1:1: error: ", "candidate.c");
  check(&v, "a folder/broken.c -DTWIN", "  a folder/broken.c:1:1: error: ", NULL);
  assay_verdict_release(&v);
}

static void test_passes(void **state) {
  (void)state;
  struct assay_verdict v;
  judge(CASES "relu.c", false, &v);
  check(&v, "relu.c", "pass", "no time");
  assay_verdict_release(&v);
  judge(CASES "relu.c", true, &v);
  check(&v, "relu.c", "pass/pass", NULL);
  set_time(&v, 2e6);
  v.timing.floor_ns = 1e6;
  check(&v, "relu.c", "2.000 ms +-5.0%      2.0      50.0 %  -", "unstable");
  v.timing.suspicious = true;
  check(&v, "relu.c", "suspicious: faster", NULL);
  v.timing.suspicious = false;
  v.times_rank_nothing = true;
  check(&v, "relu.c", "not ranked", NULL);
  v.times_rank_nothing = false;
  check(&v, "relu.c", NULL, "timed again");
  v.timing.left_out = (struct assay_left_out){.n_samples = 30, .median_ns = 2e6, .wall_ns = 9e6};
  check(&v, "relu.c", "timed again: at first the judge's clock saw more", NULL);
  v.timing.left_out.n_samples = 0;
  v.timing.unstable = true;
  check(&v, "relu.c", "2.000 ms +-5.0% unstable", NULL);
  v.timing.low_ns = v.timing.high_ns = NAN;
  check(&v, "relu.c", "2.000 ms unstable", "+-");
  v.timing.floor_ns = 0;
  check(&v, "relu.c", NULL, NULL);
  assay_verdict_release(&v);
}

// A question for which there is no room is an error, and never left out.
static void test_too_many_questions(void **state) {
  (void)state;
  struct assay_verdict v;
  struct assay_error err = {0};
  const int checks = judging.options.declared_checks;
  judging.options.declared_checks = 65;
  assert_int_equal(try_judge(CASES "relu.c", false, &v, &err), ASSAY_ERR_LIMIT);
  assert_non_null(strstr(err.message, "65 questions would be asked, and 64 are the most: fewer --checks"));
  judging.options.declared_checks = 64;
  judge(CASES "relu.c", false, &v);
  assert_int_equal(v.n_checks, 64);
  assay_verdict_release(&v);
  judging.options.declared_checks = checks;
}

static void test_no_time(void **state) {
  (void)state;
  struct assay_verdict v;
  judge(CASES "relu.c", true, &v);
  v.timing.median_ns = v.timing.low_ns = v.timing.high_ns = 0;
  v.timing.suspicious = v.timing.unstable = true;
  v.timing.floor_ns = 100;
  check(&v, "relu.c", "no time: the calls took no longer", "ns"); // as older stores have it
  v.timing.measured = false;
  snprintf(v.detail, sizeof v.detail, "no time: the clock was not steady");
  check(&v, "relu.c", "no time: the clock was not steady", "ns");
  assay_verdict_release(&v);
}

static void test_processes(void **state) {
  (void)state;
  struct assay_verdict v;
  judge(CASES "relu.c", true, &v);
  set_time(&v, 2e6);
  snprintf(v.device, sizeof v.device, "NVIDIA H200");
  snprintf(v.mode, sizeof v.mode, "process");
  check(&v, "relu.py", "process: as asked for", NULL);
  snprintf(v.no_plan, sizeof v.no_plan, "it decides on the host");
  check(&v, "relu.py", "process: it decides on the host", NULL);
  snprintf(v.mode, sizeof v.mode, "plan");
  v.no_plan[0] = '\0';
  v.kernels = (struct assay_kernels){.known = true, .launches = {0, 9, 1}, .part = {NAN, 0.9, 0.1}};
  check(&v, "relu.py", "none of its own kernels ran (libraries 90 %, PyTorch 10 %)", ";");
  v.kernels.unsettled_arguments = 2;
  check(&v, "relu.py", "; 2 arguments differed between recordings", NULL);
  v.kernels.launches[ASSAY_OWN_KERNELS] = 1;
  check(&v, "relu.py", "2 arguments differed between recordings", ";");
  assay_verdict_release(&v);
}

static void test_baselines(void **state) {
  (void)state;
  struct assay_verdict v;
  const char *idle = file_with("idle.c", "#include <assay/candidate.h>\n"
                                         "void assay_kernel(const struct assay_args *args) { (void)args; }\n");
  judging.baselines = (struct cli_list){.items = {CASES "relu.c", idle}, .n = 2};
  judge(CASES "relu.c", true, &v);
  assert_int_equal(v.n_comparisons, 2);
  set_time(&v, 2e6);
  check(&v, "relu.c", "idle.c: unwritten", NULL);
  v.comparisons[0].ratio = 1.25;
  check(&v, "relu.c", "1.25 relu.c, idle.c: unwritten", NULL);
  v.comparisons[0].ratio = INFINITY;
  check(&v, "relu.c", "relu.c: pass, idle.c: unwritten", NULL);
  v.timing.measured = false;
  check(&v, "relu.c", NULL, "idle.c");
  assay_verdict_release(&v);
}

static void test_plan(void **state) {
  (void)state;
  struct assay_verdict v;
  struct assay_error err = {0};
  cli_baselines_close(&judging);
  judging.baselines = (struct cli_list){0};
  if (try_judge(ASSAY_SOURCE_DIR "/tests/opencl/relu.cl", true, &v, &err) != ASSAY_OK) {
    print_message("left out, as there is no OpenCL: %s\n", err.message);
    skip();
  }
  assert_string_equal(v.mode, "plan");
  check(&v, "relu.cl", "pass", NULL);
  set_time(&v, 2e6);
  check(&v, "relu.cl", "not ranked", NULL);
  assay_verdict_release(&v);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_failures), cmocka_unit_test(test_passes),    cmocka_unit_test(test_too_many_questions),
      cmocka_unit_test(test_no_time),  cmocka_unit_test(test_processes), cmocka_unit_test(test_baselines),
      cmocka_unit_test(test_plan),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
