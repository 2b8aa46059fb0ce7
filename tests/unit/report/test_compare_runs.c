// SPDX-License-Identifier: Apache-2.0
// Two runs compared: a difference is one where the intervals say so, and only where the times can be compared.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "report/compare.h"
#include "store_folder.h"

enum { SAMPLES = 40 };

// What the verdicts have that are put from here on.
static const char usual[] = "{\"device\": \"NVIDIA H200\", \"timing\": {\"overhead_ns\": 1000}}";
static const char *evidence = usual, *workload = "full", *device = "cuda", *candidate = "k.cu";
static int put_samples = SAMPLES;
static double half_ns; // of the stored interval

// A verdict whose samples scatter by 1 % around time_ns; NaN: without times.
static void put(const char *run, const char *task, enum assay_reason reason, double time_ns) {
  static int number;
  double samples[SAMPLES];
  char hash[32];
  int64_t id;
  struct assay_error err = {0};
  snprintf(hash, sizeof hash, "hash%d", number++);
  for (int i = 0; i < SAMPLES; i++)
    samples[i] = 1000 + time_ns * (1 + 0.01 * (rng_unit(rng_derive((uint64_t)number, (uint64_t)i)) - 0.5));
  const struct store_verdict v = {.run = run,
                                  .task = task,
                                  .form = "default",
                                  .workload = workload,
                                  .device = device,
                                  .candidate = candidate,
                                  .candidate_hash = hash,
                                  .settings_hash = "s",
                                  .reason = reason,
                                  .error_z = 1,
                                  .error_limit = 13,
                                  .time_ns = time_ns,
                                  .time_low_ns = time_ns - half_ns,
                                  .time_high_ns = time_ns + half_ns,
                                  .hot_ns = NAN,
                                  .floor_ns = NAN,
                                  .n_samples = isnan(time_ns) ? 0 : put_samples,
                                  .samples_ns = samples,
                                  .machine = "{\"processor\": \"a CPU\"}",
                                  .command = "assay judge",
                                  .evidence = evidence};
  if (store_put(store, &v, &id, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
}

static const struct compare_task *task_of(const struct comparison *c, const char *name) {
  for (int i = 0; i < c->n; i++)
    if (strcmp(c->tasks[i].task, name) == 0)
      return &c->tasks[i];
  fail_msg("no task %s", name);
  return NULL;
}

static void expect(const struct comparison *c, const char *task, enum compare_verdict verdict, const char *why) {
  const struct compare_task *t = task_of(c, task);
  if (t->verdict != verdict || strcmp(t->why, why) != 0)
    fail_msg("%s: verdict %d, \"%s\"; expected %d, \"%s\"", task, t->verdict, t->why, verdict, why);
}

// Verdicts that came without samples are compared by the intervals of their times, where they have such.
static void without_samples(void **state) {
  (void)state;
  struct comparison c;
  struct assay_error err = {0};
  put_samples = 0;
  half_ns = 100;
  put("plain a", "k/1/1", ASSAY_REASON_PASS, 20000);
  put("plain b", "k/1/1", ASSAY_REASON_PASS, 10000);
  put("plain a", "k/1/2", ASSAY_REASON_PASS, 10150);
  put("plain b", "k/1/2", ASSAY_REASON_PASS, 10000);
  put("plain a", "k/1/3", ASSAY_REASON_PASS, 20000);
  half_ns = 0;
  put("plain b", "k/1/3", ASSAY_REASON_PASS, 10000);
  put_samples = SAMPLES;
  assert_int_equal(compare_runs(store, "plain a", "plain b", &c, &err), ASSAY_OK);
  expect(&c, "k/1/1", COMPARE_B, "B is faster");
  expect(&c, "k/1/2", COMPARE_NO_DIFFERENCE, "no difference shown");
  expect(&c, "k/1/3", COMPARE_UNKNOWN, "too few samples for an interval, and none is known");
  const struct interval *in = &task_of(&c, "k/1/1")->ratio_interval;
  assert_true(fabs(in->low - 19900 / 10100.0) < 1e-12 && fabs(in->high - 20100 / 9900.0) < 1e-12);
  compare_release(&c);
}

static void tasks(void **state) {
  (void)state;
  struct comparison c;
  struct assay_error err = {0};
  put("a", "k/1/9", ASSAY_REASON_PASS, 20000);
  put("b", "k/1/9", ASSAY_REASON_PASS, 10000); // twice as fast
  put("a", "k/1/19", ASSAY_REASON_PASS, 20000);
  put("b", "k/1/19", ASSAY_REASON_PASS, 20100); // half a per cent: no difference on any GPU
  put("a", "k/1/20", ASSAY_REASON_WRONG_VALUE, NAN);
  put("b", "k/1/20", ASSAY_REASON_PASS, 5000);
  put("a", "k/1/21", ASSAY_REASON_CRASHED, NAN);
  put("b", "k/1/21", ASSAY_REASON_CRASHED, NAN);
  put("a", "k/1/22", ASSAY_REASON_PASS, 5000);
  put("a", "k/1/23", ASSAY_REASON_PASS, 5000);
  put("b", "k/1/23", ASSAY_REASON_PASS, NAN);
  workload = "small";
  put("a", "k/1/24", ASSAY_REASON_PASS, 5000);
  workload = "full";
  put("b", "k/1/24", ASSAY_REASON_PASS, 5000);
  evidence = "{\"device\": \"NVIDIA H100\", \"timing\": {\"overhead_ns\": 1000}}";
  put("a", "k/1/25", ASSAY_REASON_PASS, 5000);
  evidence = usual;
  put("b", "k/1/25", ASSAY_REASON_PASS, 5000);
  // Of several candidates the fastest right one counts; a slower one that came later does not.
  put("a", "k/1/26", ASSAY_REASON_PASS, 8000);
  candidate = "other.cu";
  put("a", "k/1/26", ASSAY_REASON_PASS, 9000);
  put("b", "k/1/26", ASSAY_REASON_PASS, 16000);
  candidate = "third.cu";
  put("b", "k/1/26", ASSAY_REASON_WRONG_VALUE, NAN);
  // A time of a known seed is none, and a pass at one shape is no right answer.
  evidence = "{\"foreknown\": true, \"timing\": {\"overhead_ns\": 1000}}";
  put("a", "k/1/27", ASSAY_REASON_PASS, 5000);
  put("b", "k/1/27", ASSAY_REASON_PASS, 5000);
  evidence = "{\"scope\": \"judged\"}";
  put("a", "k/1/28", ASSAY_REASON_PASS, 5000);
  evidence = usual;
  put("b", "k/1/28", ASSAY_REASON_PASS, 5000);
  device = "cpu"; // 5 % are nothing there
  put("a", "k/1/29", ASSAY_REASON_PASS, 10500);
  put("b", "k/1/29", ASSAY_REASON_PASS, 10000);
  device = "cuda";
  candidate = "k.cu";
  if (compare_runs(store, "a", "b", &c, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  expect(&c, "k/1/9", COMPARE_B, "B is faster");
  expect(&c, "k/1/19", COMPARE_NO_DIFFERENCE, "no difference shown");
  expect(&c, "k/1/20", COMPARE_B, "only B is right");
  expect(&c, "k/1/21", COMPARE_UNKNOWN, "neither is right");
  expect(&c, "k/1/22", COMPARE_UNKNOWN, "only in A");
  expect(&c, "k/1/23", COMPARE_UNKNOWN, "both are right; B has no time");
  expect(&c, "k/1/24", COMPARE_UNKNOWN, "judged at different workloads");
  expect(&c, "k/1/25", COMPARE_UNKNOWN, "timed on different devices");
  expect(&c, "k/1/26", COMPARE_A, "A is faster");
  expect(&c, "k/1/27", COMPARE_UNKNOWN, "both are right, without times");
  expect(&c, "k/1/28", COMPARE_B, "only B is right");
  expect(&c, "k/1/29", COMPARE_NO_DIFFERENCE, "no difference shown");
  const struct compare_task *t = task_of(&c, "k/1/9");
  assert_true(fabs(t->ratio - 2) < 1e-12 && t->ratio_interval.low > 1.98 && t->ratio_interval.high < 2.02);
  assert_true(t->ratio_interval.low <= 2 && 2 <= t->ratio_interval.high);
  assert_string_equal(c.tasks[0].task, "k/1/9"); // before 1/19
  assert_string_equal(c.tasks[1].task, "k/1/19");
  assert_true(c.n == 12 && c.n_both == 11 && c.only_in_a == 1 && c.only_in_b == 0);
  assert_true(c.right_a == 8 && c.right_b == 10 && c.only_a_right == 0 && c.only_b_right == 2);
  assert_true(fabs(c.right_p - 0.5) < 1e-12 &&
              c.right == COMPARE_NO_DIFFERENCE); // 2 of 2: as a coin does half the time
  assert_int_equal(c.n_times, 4);
  assert_true(fabs(c.ratio - pow(2.0 * (20000 / 20100.0) * 0.5 * 1.05, 0.25)) < 1e-12);
  assert_int_equal(c.faster, COMPARE_NO_DIFFERENCE);
  compare_release(&c);
  assert_int_equal(compare_runs(store, "a", "nobody", &c, &err), ASSAY_ERR_NOT_FOUND);
  assert_non_null(strstr(err.message, "no run named \"nobody\""));
}

// Over tasks: a factor that all have shows, one that half of them have the other way round does not.
static void together(void **state) {
  (void)state;
  struct comparison c;
  struct assay_error err = {0};
  char task[32];
  for (int i = 0; i < 12; i++) {
    snprintf(task, sizeof task, "k/2/%d", i);
    put("before", task, i < 8 ? ASSAY_REASON_WRONG_VALUE : ASSAY_REASON_PASS, i < 8 ? NAN : 10000 * (i + 1));
    put("after", task, ASSAY_REASON_PASS, 9000 * (i + 1));
    put("mixed", task, ASSAY_REASON_PASS, (i % 2 ? 8100 : 10000) * (i + 1));
  }
  assert_int_equal(compare_runs(store, "before", "after", &c, &err), ASSAY_OK);
  assert_true(c.only_b_right == 8 && c.right == COMPARE_B && c.right_p < 0.01);
  assert_true(c.n_times == 4 && c.faster == COMPARE_B && fabs(c.ratio - 10 / 9.0) < 1e-12);
  compare_release(&c);
  assert_int_equal(compare_runs(store, "after", "before", &c, &err), ASSAY_OK);
  assert_true(c.right == COMPARE_A && c.faster == COMPARE_A);
  compare_release(&c);
  assert_int_equal(compare_runs(store, "after", "mixed", &c, &err), ASSAY_OK);
  assert_true(c.n_times == 12 && c.faster == COMPARE_NO_DIFFERENCE && c.right == COMPARE_NO_DIFFERENCE);
  assert_true(c.ratio_interval.low < 1 && c.ratio_interval.high > 1);
  compare_release(&c);
  put("elsewhere", "k/3/1", ASSAY_REASON_PASS, 1000);
  assert_int_equal(compare_runs(store, "after", "elsewhere", &c, &err), ASSAY_ERR_NOT_FOUND);
  assert_non_null(strstr(err.message, "no task in common"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(without_samples), cmocka_unit_test(tasks),
                                     cmocka_unit_test(together)};
  return cmocka_run_group_tests(tests, store_folder_open, store_folder_remove);
}
