// SPDX-License-Identifier: Apache-2.0
// KernelBench's files of results and baseline times: its scripts can read what Assay writes, and the other way round.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/alloc.h"
#include "base/file.h"
#include "report/kernelbench.h"
#include "report/report.h"
#include "store_folder.h"

static const char usual_evidence[] = "{\"device\": \"NVIDIA H200\", \"timing\": {\"overhead_ns\": 500}}";

// Of the verdicts that are put from here on.
static bool unstable;
static const char *evidence = usual_evidence;

static void put(const char *run, const char *task, const char *candidate, const char *workload,
                enum assay_reason reason, double time_ns, bool suspicious) {
  static const double samples[] = {1500, 2500, 3500};
  static int number;
  char hash[32];
  int64_t id;
  struct assay_error err = {0};
  snprintf(hash, sizeof hash, "hash%d", number++);
  struct store_verdict v = {.run = run,
                            .task = task,
                            .task_hash = "t",
                            .form = "default",
                            .workload = workload,
                            .device = "cuda",
                            .candidate = candidate,
                            .candidate_hash = hash,
                            .toolchain = "nvrtc",
                            .settings_hash = "s",
                            .reason = reason,
                            .detail = "\"quoted\"",
                            .error_z = 1.5,
                            .error_limit = 13,
                            .time_ns = time_ns,
                            .time_low_ns = time_ns,
                            .time_high_ns = time_ns,
                            .hot_ns = NAN,
                            .floor_ns = 500,
                            .unstable = unstable,
                            .suspicious = suspicious,
                            .n_samples = isnan(time_ns) ? 0 : 3,
                            .samples_ns = samples,
                            .at_ns = number,
                            .machine = "{}",
                            .command = "assay judge",
                            .evidence = evidence};
  if (store_put(store, &v, &id, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
}

static json_t *written(const char *name) {
  char path[4096];
  json_error_t where;
  snprintf(path, sizeof path, "%s/runs/deep/%s/eval_results.json", folder, name);
  json_t *root = json_load_file(path, 0, &where);
  if (!root)
    fail_msg("%s: %s", path, where.text);
  return root;
}

static json_t *sample(json_t *root, const char *problem, size_t i) {
  json_t *s = json_array_get(json_object_get(root, problem), i);
  assert_non_null(s);
  return s;
}

static void check_sample(json_t *s, int id, bool compiled, bool correct, double ms) {
  assert_int_equal(json_integer_value(json_object_get(s, "sample_id")), id);
  assert_true(json_is_true(json_object_get(s, "compiled")) == compiled);
  assert_true(json_is_true(json_object_get(s, "correctness")) == correct);
  assert_true(json_is_real(json_object_get(s, "runtime")));
  double runtime = json_real_value(json_object_get(s, "runtime"));
  if (!(fabs(runtime - ms) <= 1e-12))
    fail_msg("runtime %g instead of %g", runtime, ms);
  assert_true(json_is_object(json_object_get(s, "metadata")) && json_is_object(json_object_get(s, "runtime_stats")));
}

static void test_results(void **state) {
  (void)state;
  char to[4096];
  struct kernelbench_export done;
  struct assay_error err = {0};
  put("a run", "kernelbench/1/19", "x/level_1_problem_19_sample_2_kernel.cu", "full", ASSAY_REASON_PASS, 2000, false);
  put("a run", "kernelbench/1/19", "x/level_1_problem_19_sample_0_kernel.cu", "full", ASSAY_REASON_WRONG_VALUE, NAN,
      false);
  put("a run", "kernelbench/1/19", "x/other.cu", "full", ASSAY_REASON_BUILD_FAILED, NAN, false);
  put("a run", "kernelbench/1/3", "x/bmm.cu", "full", ASSAY_REASON_PASS, 3000, true);
  put("a run", "kernelbench/1/3", "x/bmm.cu -DFAST", "full", ASSAY_REASON_PASS, NAN, false);
  put("a run", "kernelbench/1/100", "x/hinge.cu", "full", ASSAY_REASON_WRONG_VALUE, NAN, false);
  put("a run", "kernelbench/1/100", "x/hinge.cu", "full", ASSAY_REASON_PASS, 4000, false); // the newest counts
  put("a run", "kernelbench/1/100", "x/gone.cu", "full", ASSAY_REASON_JUDGE_FAILED, NAN, false);
  put("a run", "contracts/1/1", "x/tf32.cu", "full", ASSAY_REASON_PASS, 4000, false);
  snprintf(to, sizeof to, "%s/runs/deep", folder);
  if (kernelbench_write_run(store, "a run", 0, to, "a_run", &done, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  assert_true(done.level == 1 && done.problems == 3 && done.samples == 6 && done.correct == 3 &&
              done.without_time == 1);
  assert_int_equal(done.not_full, 0);
  json_t *root = written("a_run");
  assert_int_equal(json_object_size(root), 3);
  const char *const order[] = {"3", "19", "100"};
  int i = 0;
  for (void *at = json_object_iter(root); at; at = json_object_iter_next(root, at))
    assert_string_equal(json_object_iter_key(at), order[i++]);
  check_sample(sample(root, "19", 0), 0, true, false, -1);
  check_sample(sample(root, "19", 1), 2, true, true, 0.002);
  check_sample(sample(root, "19", 2), 3, false, false, -1);
  check_sample(sample(root, "3", 0), 0, true, false, -1); // suspicious: written as incorrect
  check_sample(sample(root, "3", 1), 1, true, true, -1);
  check_sample(sample(root, "100", 0), 0, true, true, 0.004);
  assert_int_equal(json_array_size(json_object_get(root, "100")), 1);
  json_t *stats = json_object_get(sample(root, "19", 1), "runtime_stats");
  assert_true(fabs(json_real_value(json_object_get(stats, "mean")) - 0.002) < 1e-12);
  assert_true(fabs(json_real_value(json_object_get(stats, "min")) - 0.001) < 1e-12);
  assert_true(fabs(json_real_value(json_object_get(stats, "std")) - 0.001 * sqrt(2.0 / 3)) < 1e-12);
  assert_int_equal(json_integer_value(json_object_get(stats, "num_trials")), 3);
  assert_string_equal(json_string_value(json_object_get(stats, "hardware")), "NVIDIA H200");
  json_t *metadata = json_object_get(sample(root, "3", 0), "metadata");
  assert_true(json_is_true(json_object_get(metadata, "suspicious")));
  assert_string_equal(json_string_value(json_object_get(metadata, "detail")), "\"quoted\"");
  json_decref(root);
}

// A changed file supersedes what it was, in scores as in results; what is right at one shape alone is marked, and a
// time of a known seed is none.
static void test_what_stands(void **state) {
  (void)state;
  char to[4096];
  struct kernelbench_export done;
  struct score *scores;
  int n;
  struct assay_error err = {0};
  put("changing", "kernelbench/1/1", "a.cu", "full", ASSAY_REASON_PASS, 1000, false);
  put("changing", "kernelbench/1/1", "a.cu", "full", ASSAY_REASON_WRONG_VALUE, NAN, false);
  put("changing", "kernelbench/1/2", "b.cu", "full", ASSAY_REASON_CRASHED, NAN, false);
  put("changing", "kernelbench/1/2", "b.cu", "full", ASSAY_REASON_PASS, 3000, false);
  put("changing", "kernelbench/1/2", "b.cu", "full", ASSAY_REASON_JUDGE_FAILED, NAN, false);
  evidence = "{\"scope\": \"judged\", \"elsewhere\": \"wrong_value: shape 3\"}";
  put("changing", "kernelbench/1/3", "c.cu", "full", ASSAY_REASON_PASS, 5000, false);
  evidence = "{\"foreknown\": true}";
  put("changing", "kernelbench/1/4", "d.cu", "full", ASSAY_REASON_PASS, 5000, false);
  evidence = usual_evidence;
  snprintf(to, sizeof to, "%s/runs/deep", folder);
  assert_int_equal(kernelbench_write_run(store, "changing", 0, to, "changing", &done, &err), ASSAY_OK);
  assert_int_equal(score_run(store, "changing", &(struct score_options){0}, &scores, &n, &err), ASSAY_OK);
  assert_true(done.samples == 4 && done.correct == 3 && done.judged_shape_only == 1 && done.without_time == 1);
  assert_true(n == 1 && scores[0].sum.rows.asked == done.samples && scores[0].sum.n_narrow == done.judged_shape_only);
  assert_int_equal(scores[0].sum.rows.right, done.correct - done.judged_shape_only);
  json_t *root = written("changing");
  check_sample(sample(root, "1", 0), 0, true, false, -1);
  check_sample(sample(root, "2", 0), 0, true, true, 0.003);
  check_sample(sample(root, "4", 0), 0, true, true, -1);
  json_t *metadata = json_object_get(sample(root, "3", 0), "metadata");
  assert_string_equal(json_string_value(json_object_get(metadata, "scope")), "judged");
  assert_string_equal(json_string_value(json_object_get(metadata, "elsewhere")), "wrong_value: shape 3");
  assert_null(json_object_get(json_object_get(sample(root, "2", 0), "metadata"), "scope"));
  json_decref(root);
  base_free(scores);
}

static void test_levels(void **state) {
  (void)state;
  char to[4096];
  struct kernelbench_export done;
  struct assay_error err = {0};
  put("both", "kernelbench/1/19", "a.cu", "full", ASSAY_REASON_PASS, 2000, false);
  put("both", "kernelbench/2/7", "b.cu", "full", ASSAY_REASON_PASS, 2000, false);
  put("neither", "contracts/1/7", "b.cu", "full", ASSAY_REASON_PASS, 2000, false);
  snprintf(to, sizeof to, "%s/runs/deep", folder);
  assert_int_equal(kernelbench_write_run(store, "both", 0, to, "both", &done, &err), ASSAY_ERR_INVALID);
  assert_non_null(strstr(err.message, "--level"));
  assert_int_equal(kernelbench_write_run(store, "both", 2, to, "both", &done, &err), ASSAY_OK);
  json_t *root = written("both");
  assert_true(json_object_size(root) == 1 && json_object_get(root, "7"));
  json_decref(root);
  assert_int_equal(kernelbench_write_run(store, "both", 3, to, "both", &done, &err), ASSAY_ERR_NOT_FOUND);
  assert_int_equal(kernelbench_write_run(store, "neither", 0, to, "both", &done, &err), ASSAY_ERR_NOT_FOUND);
  assert_int_equal(kernelbench_write_run(store, "no such run", 0, to, "both", &done, &err), ASSAY_ERR_NOT_FOUND);
  assert_int_equal(kernelbench_write_run(store, "both", 1, "/dev/null/x", "both", &done, &err), ASSAY_ERR_IO);
}

static void times_file(const char *text, char path[4096]) {
  struct assay_error err = {0};
  snprintf(path, 4096, "%s/times.json", folder);
  assert_int_equal(file_write(path, text, strlen(text), &err), ASSAY_OK);
}

static void test_times(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum assay_status status;
    const char *words;
  } bad[] = {
      {"", ASSAY_ERR_SYNTAX, "times.json:"},
      {"[]", ASSAY_ERR_INVALID, "no times"},
      {"{}", ASSAY_ERR_INVALID, "no times"},
      {"{\"level1\": {\"19_ReLU.py\": {\"mean\": 0}}}", ASSAY_ERR_INVALID, "\"19_ReLU.py\""},
      {"{\"level1\": {\"19_ReLU.py\": {\"mean\": \"3\"}}}", ASSAY_ERR_INVALID, "positive mean"},
      {"{\"level1\": {\"ReLU.py\": {\"mean\": 3}}}", ASSAY_ERR_INVALID, "\"ReLU.py\""},
      {"{\"level1\": {\"19_ReLU.py\": 3}}", ASSAY_ERR_INVALID, "\"19_ReLU.py\""},
  };
  char path[4096];
  struct kernelbench_time *times;
  int n;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct assay_error err = {0};
    times_file(bad[i].text, path);
    assert_int_equal(kernelbench_read_times(path, &times, &n, &err), bad[i].status);
    if (!strstr(err.message, bad[i].words))
      fail_msg("\"%s\" lacks \"%s\"", err.message, bad[i].words);
  }
  struct assay_error err = {0};
  assert_int_equal(kernelbench_read_times("/nowhere.json", &times, &n, &err), ASSAY_ERR_IO);
  times_file("{\"level1\": {\"19_ReLU.py\": {\"mean\": 3.5, \"std\": 0.1}}, \"level2\": {\"7_x.py\": {\"mean\": 1}}}",
             path);
  assert_int_equal(kernelbench_read_times(path, &times, &n, &err), ASSAY_OK);
  assert_int_equal(n, 2);
  assert_true(times[0].level == 1 && times[0].problem == 19 && times[0].ns == 3.5e6);
  assert_true(times[1].level == 2 && times[1].problem == 7 && times[1].ns == 1e6);
  base_free(times);
}

// Compared with a file of times, only verdicts at `full` count.
static void test_score(void **state) {
  (void)state;
  char path[4096];
  struct score *scores;
  int n;
  struct assay_error err = {0};
  put("scored", "kernelbench/1/19", "a.cu", "full", ASSAY_REASON_PASS, 2e6, false);
  put("scored", "kernelbench/1/19", "b.cu", "small", ASSAY_REASON_PASS, 1e3, false);
  put("scored", "kernelbench/1/20", "b.cu", "small", ASSAY_REASON_PASS, 1e3, false);
  times_file("{\"level1\": {\"19_ReLU.py\": {\"mean\": 3}, \"20_LeakyReLU.py\": {\"mean\": 3}}}", path);
  const struct score_options o = {.baseline = path};
  if (score_run(store, "scored", &o, &scores, &n, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  assert_int_equal(n, 2);
  assert_string_equal(scores[0].group, "kernelbench/1 at full");
  assert_string_equal(scores[1].group, "kernelbench/1 at small");
  const struct score_summary *full = &scores[0].sum, *small = &scores[1].sum;
  assert_true(full->n_tasks == 1 && full->n_right == 1 && full->n_baseline == 1);
  assert_true(small->n_tasks == 2 && small->n_right == 2 && small->n_baseline == 0 && isnan(small->fast_p[3]));
  assert_true(fabs(full->geomean_speedup - 1.5) < 1e-12);
  assert_true(full->fast_p[3] == 1 && full->fast_p[4] == 0);
  base_free(scores);
}

// All tasks of a list count, with a verdict or without.
static void test_expected(void **state) {
  (void)state;
  static const char *const names[] = {"kernelbench/1/19", "kernelbench/1/20", "kernelbench/1/21", "kernelbench/2/1"};
  const struct score_names expected = {names, 4};
  const struct score_options o = {.expected = &expected};
  struct score *scores;
  struct assay_error err = {0};
  int n;
  put("part", "kernelbench/1/19", "a.cu", "full", ASSAY_REASON_PASS, 2e6, false);
  put("part", "kernelbench/1/20", "a.cu", "full", ASSAY_REASON_CRASHED, NAN, false);
  put("part", "kernelbench/1/99", "a.cu", "full", ASSAY_REASON_PASS, 2e6, false); // was not asked for
  assert_int_equal(score_run(store, "part", &o, &scores, &n, &err), ASSAY_OK);
  assert_int_equal(n, 2);
  const struct score_summary *first = &scores[0].sum, *second = &scores[1].sum;
  assert_true(first->n_tasks == 3 && first->n_right == 1 && first->n_missing == 1);
  assert_true(fabs(first->fast_p[0] - 1 / 3.0) < 1e-15 && fabs(first->pass_at_1 - 1 / 3.0) < 1e-15);
  assert_string_equal(scores[1].group, "kernelbench/2");
  assert_true(second->n_tasks == 1 && second->n_missing == 1 && second->fast_p[0] == 0);
  base_free(scores);
}

static struct score_summary score_of(const char *run, const char *baseline, bool stable) {
  struct score *scores;
  struct score_summary first;
  int n;
  struct assay_error err = {0};
  if (score_run(store, run, &(struct score_options){.baseline = baseline, .stable = stable}, &scores, &n, &err) !=
      ASSAY_OK)
    fail_msg("%s", err.message);
  first = scores[0].sum;
  base_free(scores);
  return first;
}

// fast_0 counts what is right, timed or not. Of speeds that nobody knows there is no part.
static void test_fast_p(void **state) {
  (void)state;
  put("usual", "kernelbench/1/1", "a.cu", "full", ASSAY_REASON_PASS, 2000, false);
  put("usual", "kernelbench/1/2", "b.cu", "full", ASSAY_REASON_PASS, 2000, false);
  put("untimed", "kernelbench/1/1", "a.cu", "full", ASSAY_REASON_PASS, NAN, false);
  put("untimed", "kernelbench/1/2", "b.cu", "full", ASSAY_REASON_CRASHED, NAN, false);
  put("wrong", "kernelbench/1/1", "a.cu", "full", ASSAY_REASON_CRASHED, NAN, false);
  put("mixed", "kernelbench/1/1", "a.cu", "full", ASSAY_REASON_PASS, NAN, false);
  put("mixed", "kernelbench/1/2", "b.cu", "full", ASSAY_REASON_PASS, 1000, false);
  put("mixed", "kernelbench/1/3", "c.cu", "full", ASSAY_REASON_JUDGE_FAILED, NAN, false); // is no verdict
  put("elsewhere", "kernelbench/1/3", "a.cu", "full", ASSAY_REASON_PASS, 1000, false);
  struct score_summary s = score_of("untimed", "usual", false);
  assert_true(s.n_baseline == 2 && s.fast_p[0] == 0.5 && isnan(s.fast_p[1]) && isnan(s.fast_p[5]));
  s = score_of("untimed", NULL, false);
  assert_true(s.fast_p[0] == 0.5 && isnan(s.fast_p[3]));
  s = score_of("elsewhere", "usual", false);
  assert_true(s.n_baseline == 0 && s.fast_p[0] == 1 && isnan(s.fast_p[1]));
  s = score_of("wrong", "usual", false);
  assert_true(s.fast_p[0] == 0 && s.fast_p[1] == 0 && s.fast_p[5] == 0);
  s = score_of("mixed", "usual", false);
  assert_true(s.n_tasks == 2 && s.fast_p[0] == 1 && s.fast_p[1] == 0.5 && s.fast_p[4] == 0.5 && s.fast_p[5] == 0);
}

// Unstable times are counted, and can be left out: then a task's best is its best stable one.
static void test_unstable(void **state) {
  (void)state;
  put("calm", "kernelbench/1/1", "a.cu", "full", ASSAY_REASON_PASS, 2000, false);
  put("calm", "kernelbench/1/2", "a.cu", "full", ASSAY_REASON_PASS, 2000, false);
  put("shaky", "kernelbench/1/1", "a.cu", "full", ASSAY_REASON_PASS, 1000, false);
  unstable = true;
  put("shaky", "kernelbench/1/1", "b.cu", "full", ASSAY_REASON_PASS, 500, false);
  put("shaky", "kernelbench/1/2", "c.cu", "full", ASSAY_REASON_PASS, 500, false);
  unstable = false;
  struct score_summary s = score_of("shaky", "calm", false);
  assert_true(s.n_unstable == 2 && s.n_right == 2 && s.geomean_speedup == 4);
  s = score_of("shaky", "calm", true);
  assert_true(s.n_unstable == 1 && s.n_right == 2 && s.geomean_speedup == 2);
  assert_true(s.fast_p[0] == 1 && s.fast_p[4] == 0.5);
  s = score_of("calm", "shaky", true); // the baseline's times, too
  assert_true(s.n_baseline == 1);
}

static enum assay_status beside(const char *run, int level, const char *text, struct kernelbench_pair **pairs, int *n) {
  char path[4096];
  struct assay_error err = {0};
  times_file(text, path);
  return kernelbench_compare(store, run, level, path, pairs, n, &err);
}

// Samples are matched by problem and number; one that only one of the two judged is not a difference.
static void test_beside(void **state) {
  (void)state;
  struct kernelbench_pair *p;
  int n;
  put("two", "kernelbench/1/19", "x/level_1_problem_19_sample_0_kernel.py", "full", ASSAY_REASON_WRONG_VALUE, NAN,
      false);
  put("two", "kernelbench/1/19", "x/level_1_problem_19_sample_1_kernel.py", "full", ASSAY_REASON_PASS, 2000, false);
  put("two", "kernelbench/1/19", "x/level_1_problem_19_sample_2_kernel.py", "full", ASSAY_REASON_PASS, 2000, true);
  put("two", "kernelbench/1/3", "x/level_1_problem_3_sample_0_kernel.py", "full", ASSAY_REASON_PASS, 2000, false);
  put("two", "kernelbench/1/4", "x/own.cu", "full", ASSAY_REASON_PASS, 2000, false);
  const char text[] = "{\"19\": [{\"sample_id\": 1, \"compiled\": true, \"correctness\": false, \"runtime\": -1.0},"
                      " {\"sample_id\": 0, \"compiled\": true, \"correctness\": true, \"runtime\": 0.5},"
                      " {\"sample_id\": 2, \"compiled\": true, \"correctness\": true, \"runtime\": 0.5}],"
                      " \"20\": {\"compiled\": false, \"correctness\": false}}";
  assert_int_equal(beside("two", 0, text, &p, &n), ASSAY_OK);
  assert_int_equal(n, 5);
  assert_true(p[0].problem == 3 && p[0].here && !p[0].there && !kernelbench_differ(&p[0]));
  assert_true(p[1].sample == 0 && p[1].correct && p[1].runtime_ms == 0.5 && kernelbench_differ(&p[1]));
  assert_true(p[2].sample == 1 && !p[2].correct && isnan(p[2].runtime_ms) && p[2].time_ns == 2000);
  assert_true(kernelbench_differ(&p[2]) && kernelbench_differ(&p[3])); // the last one: suspicious
  assert_true(p[4].problem == 20 && p[4].there && !p[4].here && !p[4].compiled && !kernelbench_differ(&p[4]));
  base_free(p);
  static const char *const bad[] = {"[]",
                                    "{",
                                    "{\"19\": 3}",
                                    "{\"x\": []}",
                                    "{\"x\": [{}]}",
                                    "{\"19\": [{\"sample_id\": -1, \"compiled\": true, \"correctness\": true}]}",
                                    "{\"19\": [{\"sample_id\": 0, \"compiled\": 1, \"correctness\": true}]}"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    if (i != 3) // no result, nothing wrong
      assert_int_not_equal(beside("two", 0, bad[i], &p, &n), ASSAY_OK);
  assert_int_equal(beside("nobody", 0, text, &p, &n), ASSAY_ERR_NOT_FOUND);
  assert_int_equal(beside("two", 2, text, &p, &n), ASSAY_ERR_NOT_FOUND);
  put("two", "kernelbench/2/1", "x/level_2_problem_1_sample_0_kernel.py", "full", ASSAY_REASON_PASS, 2000, false);
  assert_int_equal(beside("two", 0, text, &p, &n), ASSAY_ERR_INVALID);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_results), cmocka_unit_test(test_what_stands), cmocka_unit_test(test_levels),
      cmocka_unit_test(test_times),   cmocka_unit_test(test_score),       cmocka_unit_test(test_expected),
      cmocka_unit_test(test_fast_p),  cmocka_unit_test(test_unstable),    cmocka_unit_test(test_beside)};
  return cmocka_run_group_tests_name("kernelbench", tests, store_folder_open, store_folder_remove);
}
