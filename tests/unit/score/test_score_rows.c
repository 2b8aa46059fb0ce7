// SPDX-License-Identifier: Apache-2.0
// What counts and why not, digits of figures, and ranks.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "score/figure.h"
#include "score/group.h"
#include "score/newest.h"
#include "score/rank.h"
#include "score/summary.h"
#include "score_rows.h"

static void expect(const struct score_row *row, struct score_question q, enum score_reason want) {
  enum score_reason got = score_eligible(row, &q);
  if (got != want)
    fail_msg("%s, expected %s", score_reason_code(got), score_reason_code(want));
}

static const struct score_question right = {.ask = SCORE_ASK_RIGHT}, timed = {.ask = SCORE_ASK_TIME},
                                   floored = {.ask = SCORE_ASK_FLOOR};

static void what_is_right(void **state) {
  (void)state;
  struct score_row r = score_row_of("kernelbench/1/1", "a.cu", 100);
  expect(&r, right, SCORE_ELIGIBLE);
  assert_true(score_is_right(&r));
  r.narrow = true;
  expect(&r, right, SCORE_JUDGED_SHAPE_ONLY);
  r = score_row_of("kernelbench/1/1", "a.cu", 100);
  r.suspicious = true;
  expect(&r, right, SCORE_SUSPICIOUS);
  r.cheat = "clock";
  expect(&r, right, SCORE_CHEAT);
  r = score_failed_row("kernelbench/1/1", "a.cu", ASSAY_REASON_WRONG_VALUE);
  expect(&r, right, SCORE_NOT_RIGHT);
  r.reason = ASSAY_REASON_BUILD_TIMEOUT;
  expect(&r, right, SCORE_NOT_BUILT);
  r.reason = ASSAY_REASON_JUDGE_FAILED; // the machine's failure is not the candidate's
  expect(&r, right, SCORE_NOT_JUDGED);
  r = score_row_of("kernelbench/1/1", "a.cu", 100);
  r.judged = false;
  expect(&r, right, SCORE_NOT_JUDGED);
  assert_false(score_is_right(&r));
}

static void what_ranks(void **state) {
  (void)state;
  struct score_row r = score_row_of("kernelbench/1/1", "a.cu", 100);
  expect(&r, timed, SCORE_ELIGIBLE);
  expect(&r, floored, SCORE_NO_FLOOR);
  r.floor_ns = 50;
  expect(&r, floored, SCORE_ELIGIBLE);
  r.unstable = r.process = true;
  expect(&r, timed, SCORE_ELIGIBLE);
  expect(&r, (struct score_question){.ask = SCORE_ASK_TIME, .stable_only = true}, SCORE_UNSTABLE);
  expect(&r, (struct score_question){.ask = SCORE_ASK_RIGHT, .stable_only = true}, SCORE_ELIGIBLE);
  expect(&r, (struct score_question){.ask = SCORE_ASK_TIME, .plans_only = true}, SCORE_AS_PROCESS);
  static const double none[] = {NAN, INFINITY, 0, -3};
  for (int i = 0; i < 4; i++) {
    r.time_ns = none[i];
    expect(&r, timed, SCORE_NO_TIME);
    expect(&r, right, SCORE_ELIGIBLE);
  }
  r.time_ns = 100;
  r.unranked_device = true;
  expect(&r, timed, SCORE_UNRANKED_DEVICE);
  r.foreknown = true;
  expect(&r, timed, SCORE_FOREKNOWN);
  expect(&r, right, SCORE_ELIGIBLE);
}

static void baselines(void **state) {
  (void)state;
  const struct score_baseline list[] = {{.name = "torch.eager", .speedup = NAN}, {.name = "torch.eager", .speedup = 2}};
  struct score_question q = {.ask = SCORE_ASK_SPEED, .baseline = "torch.eager"};
  struct score_row r = score_row_of("kernelbench/1/1", "a.cu", 100);
  expect(&r, q, SCORE_NO_BASELINE);
  r.baselines = list;
  r.n_baselines = 1;
  expect(&r, q, SCORE_NO_BASELINE);
  r.n_baselines = 2;
  expect(&r, q, SCORE_ELIGIBLE);
  q.baseline = "library";
  expect(&r, q, SCORE_NO_BASELINE);
  q.baseline = NULL;
  expect(&r, q, SCORE_NO_BASELINE);
}

// Never across devices, workloads, forms, contracts, rules, judges: whatever else is wrong with the row.
static void settings(void **state) {
  (void)state;
  const struct score_row usual = score_row_of("kernelbench/1/1", "a.cu", 100);
  struct score_question q = {.ask = SCORE_ASK_TIME, .at = usual.setting};
  expect(&usual, q, SCORE_ELIGIBLE);
#define ELSEWHERE(field, text, why)                                                                                    \
  do {                                                                                                                 \
    struct score_row r = usual;                                                                                        \
    r.setting.field = text;                                                                                            \
    r.reason = ASSAY_REASON_CRASHED;                                                                                   \
    expect(&r, q, why);                                                                                                \
  } while (0)
  ELSEWHERE(device, "cuda NVIDIA H100", SCORE_OTHER_DEVICE);
  ELSEWHERE(device, "cpu", SCORE_OTHER_DEVICE);
  ELSEWHERE(device, "cuda", SCORE_NOT_RIGHT); // it built for no device with a name
  ELSEWHERE(workload, "small", SCORE_OTHER_WORKLOAD);
  ELSEWHERE(form, "published", SCORE_OTHER_FORM);
  ELSEWHERE(contract, "tf32", SCORE_OTHER_CONTRACT);
  ELSEWHERE(rule, "allclose", SCORE_OTHER_RULE);
  ELSEWHERE(judge, "0.2.0", SCORE_OTHER_JUDGE);
}

static void names(void **state) {
  (void)state;
  int suite, level;
  score_names("kernelbench/1/19", &suite, &level);
  assert_int_equal(suite, 11);
  assert_int_equal(level, 13);
  score_names("relu", &suite, &level);
  assert_true(suite == 4 && level == 4);
  assert_true(score_by_name("k/1/9", "k/1/19") < 0 && score_by_name("k/2/1", "k/1/19") > 0);
  assert_true(score_by_name("k/1/19", "k/1/19") == 0 && score_by_name("k/1/1", "k/1/1 (tf32)") < 0);
  assert_true(score_resolution("cuda NVIDIA H200") < score_resolution("cpu") && score_resolution("cudax") > 0.05);
}

static void figures(void **state) {
  (void)state;
  static const struct {
    double value, half;
    const char *text;
  } cases[] = {
      {11.5945, 0.2712,
       "11.59 \xC2\xB1"
       "0.27"},
      {11594.5, 271.2,
       "11590 \xC2\xB1"
       "270"},
      {611.23, 0.42,
       "611.2 \xC2\xB1"
       "0.4"},
      {10, 0.354,
       "10.00 \xC2\xB1"
       "0.35"},
      {10, 0.355,
       "10.0 \xC2\xB1"
       "0.4"},
      {10, 0.949,
       "10.0 \xC2\xB1"
       "0.9"},
      {10, 0.950,
       "10.0 \xC2\xB1"
       "1.0"},
      {10, 0.9996,
       "10.0 \xC2\xB1"
       "1.0"},
      {10, 0.1,
       "10.00 \xC2\xB1"
       "0.10"},
      {1.23456e9, 1e6,
       "1234600000 \xC2\xB1"
       "1000000"},
      {3.14159, NAN, "3.14"},
      {31415.9, 0, "31400"},
      {0.00123456, INFINITY, "0.00123"},
      {NAN, 0.1, "-"},
      {0, 0, "0"},
      {-0.001, 0.2,
       "0.00 \xC2\xB1"
       "0.20"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[96];
    assert_string_equal(score_figure(cases[i].value, cases[i].half, text, sizeof text), cases[i].text);
  }
  struct interval in = {11323.3, 11852.5};
  assert_true(fabs(score_half_width(11594.5, &in) - 271.2) < 1e-9);
  in = (struct interval){12000, 13000}; // an interval that its value lies outside of says nothing
  assert_true(isnan(score_half_width(11594.5, &in)));
  assert_string_equal(score_time_unit((const double[]){NAN, 2e6, 7e9}, 3).name, "ms");
  assert_string_equal(score_time_unit((const double[]){0.2}, 1).name, "ns");
  assert_string_equal(score_time_unit(NULL, 0).name, "us");
}

// What printf writes in the C locale, whichever way it is made.
static void numbers(void **state) {
  (void)state;
  static const double odd[] = {0, 0.5, 1.5, 0.05, 0.25, 0.125, 0.95, 9.995, 99.95, 999999.9999999, 1e7, 1e15, 1e-9};
  uint64_t random = 1;
  for (int i = 0; i < 20000; i++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const int decimals = (int)(random >> 33) % 8;
    double x = i < 26 ? odd[i / 2] : (double)(random >> 40) * pow(10, (int)(random >> 36) % 12 - 9);
    char made[64], expected[400];
    x = i % 2 ? -x : x;
    snprintf(expected, sizeof expected, "%.*f", decimals, x);
    const bool nothing = strspn(expected, "-0.") == strlen(expected) && expected[0] == '-';
    assert_string_equal(score_number(x, decimals, made, sizeof made), expected + nothing);
  }
}

// The definition, pair by pair.
static void rank_by_pairs(const struct score_row *rows, int n, int at, int *first, int *last) {
  *first = 1;
  *last = n;
  for (int i = 0; i < n; i++) {
    *first += rows[i].time.high * 1.01 < rows[at].time.low;
    *last -= rows[i].time.low > rows[at].time.high * 1.01;
  }
}

static void ranks(void **state) {
  (void)state;
  enum { N = 60 };
  static struct score_row rows[N];
  const struct score_row *all[N];
  struct score_rank out[N];
  struct assay_error err = {0};
  for (int i = 0; i < N; i++) {
    rows[i] = score_row_of("kernelbench/1/1", "k.cu", 100 + (i * 37) % N);
    rows[i].time = (struct interval){rows[i].time_ns - i % 7, rows[i].time_ns + i % 5};
    all[i] = &rows[i];
  }
  const struct score_question q = {.at = rows[0].setting};
  assert_int_equal(score_rank(all, N, &q, out, &err), ASSAY_OK);
  for (int i = 0; i < N; i++) {
    int first, last;
    rank_by_pairs(rows, N, i, &first, &last);
    assert_int_equal(out[i].first, first);
    assert_int_equal(out[i].last, last);
    assert_true(out[i].first <= out[i].order + 1 && out[i].order + 1 <= out[i].last);
  }
  // By hand: two overlap, the third is slower; one failed and one was timed elsewhere.
  struct score_row few[5] = {score_row_of("t", "b", 611.2), score_row_of("t", "a", 612.0), score_row_of("t", "c", 700),
                             score_failed_row("t", "d", ASSAY_REASON_CRASHED), score_row_of("t", "e", 1)};
  few[4].setting.workload = "small";
  for (int i = 0; i < 5; i++)
    all[i] = &few[i];
  assert_int_equal(score_rank(all, 5, &q, out, &err), ASSAY_OK);
  assert_true(out[0].first == 1 && out[0].last == 2 && out[1].first == 1 && out[1].last == 2);
  assert_true(out[2].first == 3 && out[2].last == 3 && out[0].order == 0 && out[1].order == 1);
  assert_true(out[3].why == SCORE_NOT_RIGHT && out[3].first == 0 && out[3].order == 3);
  assert_true(out[4].why == SCORE_OTHER_WORKLOAD && out[4].order == 4);
  assert_int_equal(score_rank(all, 0, &q, out, &err), ASSAY_OK);
}

static struct score_row judged(const char *run, const char *candidate, const char *hash, int64_t at_ns) {
  struct score_row r = score_row_of("kernelbench/1/1", candidate, 100 + (double)at_ns);
  r.run = run;
  r.candidate_hash = hash;
  r.at_ns = r.id = at_ns;
  return r;
}

// Of a kernel that several runs have, the newest verdict counts.
static void the_newest_counts(void **state) {
  (void)state;
  struct score_row rows[] = {
      judged("old", "kernels/a.cu", "1", 1),
      judged("new", "kernels/a.cu", "2", 5), // edited since: one file
      judged("old", "a.cu", "7", 2),
      judged("new", "/elsewhere/a.cu", "7", 6), // one text, one name
      judged("old", "b.cu", "3", 3),
      judged("new", "b.cu", "4", 4), // names without a folder say nothing
      judged("old", "kernels/c.cu -DX=1/2", "5", 1),
      judged("new", "kernels/c.cu", "5", 9), // a twin is another kernel
      judged("one", "x/d.cu", "6", 1),
      judged("one", "y/d.cu", "6", 2), // of one run: both its own
      judged("made 1", "m/e.cu", "8", 1),
      judged("made 2", "m/e.cu", "8", 2), // draws of a method
      judged("old", "kernels/f.cu", "9", 7),
      judged("new", "kernels/f.cu", "9", 8), // the newer one is wrong
      judged("old", "kernels/g.cu", "10", 1),
      judged("new", "kernels/g.cu", "10", 2), // and can be ranked nowhere: its draws were known
      judged("old", "kernels/h.cu", "11", 1),
      judged("new", "kernels/h.cu", "11", 2), // likewise: it has no time
      judged("a", "/workspace/i.cu", "12", 1),
      judged("b", "/workspace/i.cu", "13", 2), // of two machines, it may be
      judged("old", "kernels/j.cu", "14", 1),
      judged("new", "kernels/j.cu", "14", 2), // the older one has no time, either
  };
  enum { N = sizeof rows / sizeof *rows };
  static const bool replaced[N] = {true,  false, true,  false, false, false, false, false, false, false, false,
                                   false, true,  false, false, false, false, false, false, false, true,  false};
  struct score_row *all[N];
  const struct score_row *read[N];
  struct score_rank ranks[N];
  struct score_task *tasks;
  struct assay_error err = {0};
  int n;
  rows[10].method = rows[11].method = "sample, gpt-x";
  rows[13].reason = ASSAY_REASON_WRONG_VALUE;
  rows[15].foreknown = true;
  rows[17].time_ns = rows[20].time_ns = rows[21].time_ns = NAN;
  for (int i = 0; i < N; i++)
    read[i] = all[N - 1 - i] = &rows[i];
  assert_int_equal(score_mark_replaced(all, N, &err), ASSAY_OK);
  for (int i = 0; i < N; i++)
    if (rows[i].replaced != replaced[i])
      fail_msg("row %d, %s of %s", i, rows[i].candidate, rows[i].run);
  assert_int_equal(score_mark_replaced(all, 0, &err), ASSAY_OK);
  const struct score_question newest = {.ask = SCORE_ASK_TIME, .newest_only = true};
  expect(&rows[0], newest, SCORE_REPLACED);
  expect(&rows[0], timed, SCORE_ELIGIBLE);
  assert_int_equal(score_rank(read, N, &newest, ranks, &err), ASSAY_OK);
  assert_true(ranks[0].why == SCORE_REPLACED && !ranks[1].why && ranks[12].why == SCORE_REPLACED);
  assert_int_equal(score_tasks(read, N, &newest, NULL, &tasks, &n, &err), ASSAY_OK);
  assert_int_equal(n, 1);
  assert_int_equal(tasks->n_judged, N - 4);
  assert_int_equal(tasks->n_right, N - 5);
  base_free(tasks);
}

static void groups(void **state) {
  (void)state;
  struct score_row rows[6];
  const struct score_row *all[6];
  struct score_group *g;
  struct assay_error err = {0};
  int n;
  for (int i = 0; i < 6; i++) {
    rows[i] = score_row_of("kernelbench/1/1", "k.cu", 100 + i);
    rows[i].id = i;
    rows[i].operator_kind = i % 2 ? "reduction" : "contraction";
    all[i] = &rows[i];
  }
  assert_int_equal(score_group(all, 6, SCORE_BY_OPERATOR_KIND, &g, &n, &err), ASSAY_OK);
  assert_int_equal(n, 2);
  assert_string_equal(g[0].key, "contraction");
  assert_true(g[0].n == 3 && g[1].n == 3 && g[1].rows[0]->id == 1 && g[1].rows[2]->id == 5);
  base_free(g);
  // A candidate that did not build stands with the only device of its kind; with two there is no telling.
  rows[3].setting.device = "cuda";
  rows[4].setting.workload = "small";
  assert_int_equal(score_group_settings(all, 6, &g, &n, &err), ASSAY_OK);
  assert_int_equal(n, 2);
  assert_int_equal(g[0].n + g[1].n, 6);
  base_free(g);
  rows[5].setting.device = "cuda NVIDIA H100";
  assert_int_equal(score_group_settings(all, 6, &g, &n, &err), ASSAY_OK);
  assert_int_equal(n, 4);
  base_free(g);
  rows[3].setting.device = rows[0].setting.device; // of an older judge, which did not say so
  rows[3].setting.judge = rows[3].setting.rule = rows[2].setting.judge = "";
  rows[5].setting = rows[0].setting;
  assert_int_equal(score_group_settings(all, 6, &g, &n, &err), ASSAY_OK);
  assert_true(n == 2 && g[0].n + g[1].n == 6 && (g[0].n == 5 || g[1].n == 5));
  base_free(g);
  assert_int_equal(score_group(all, 0, SCORE_BY_TASK, &g, &n, &err), ASSAY_OK);
  assert_int_equal(n, 0);
  base_free(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_right), cmocka_unit_test(what_ranks), cmocka_unit_test(baselines),
      cmocka_unit_test(settings),      cmocka_unit_test(names),      cmocka_unit_test(figures),
      cmocka_unit_test(numbers),       cmocka_unit_test(ranks),      cmocka_unit_test(the_newest_counts),
      cmocka_unit_test(groups),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
