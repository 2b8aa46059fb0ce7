// SPDX-License-Identifier: Apache-2.0
// Attention whose scores err by about one, because the inputs' mean is far above their spread: a small weight is e to
// the power of such an error, and a row in which it shows is off by many times its standard deviation. Honest kernels
// in single precision are judged as the exam judges them, second look included, and so are kernels that are wrong.
// `test_long_tails N [FIRST]` asks N questions from seed FIRST on and prints the counts of docs/evidence/numerics.md.
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
#include "base/parallel.h"
#include "judge/question.h"

enum { HEADS = 8, S = 48, E = 64, N = HEADS * S * E, REPLICAS = 16 };

enum form {
  IN_ORDER,
  EIGHT_LANES,
  SCALED_QUERY,
  POWERS_OF_TWO,
  HONEST,
  BF16_WEIGHTS = HONEST,
  TF32_SCORES,
  TF32_VALUES,
  LAST_KEY_LEFT_OUT,
  NOT_SCALED,
  ONE_ROW_IN_BF16, // of all rows of all heads
  FORMS
};
static const char *const form_names[FORMS] = {
    "in order",       "eight lanes",    "the scale in the query", "powers of two",     "weights in bfloat16",
    "scores of TF32", "values in TF32", "the last key left out",  "scores not scaled", "one row's weights in bfloat16"};

static float fewer_bits(float x, int bits) {
  int e;
  float m = frexpf(x, &e);
  return ldexpf(rintf(ldexpf(m, bits)), e - bits);
}

static float product(const float *q, const float *k, enum form form) {
  float lanes[8] = {0}, s = 0;
  for (int c = 0; c < E && form == EIGHT_LANES; c++)
    lanes[c % 8] += q[c] * k[c];
  for (int i = 0; i < 8; i++)
    s += lanes[i];
  for (int c = 0; c < E && form != EIGHT_LANES; c++) {
    if (form == TF32_SCORES)
      s += fewer_bits(q[c], 11) * fewer_bits(k[c], 11);
    else
      s += (form == SCALED_QUERY ? q[c] * 0.125f : q[c]) * k[c];
  }
  return s;
}

static void attend(const float *q, const float *k, const float *v, int row, enum form form, float *y) {
  const int keys = form == LAST_KEY_LEFT_OUT ? S - 1 : S;
  const float scale = form == POWERS_OF_TWO                        ? 0.125f * 1.44269504f
                      : form == SCALED_QUERY || form == NOT_SCALED ? 1
                                                                   : 0.125f;
  const bool coarse = form == BF16_WEIGHTS || (form == ONE_ROW_IN_BF16 && row == 100);
  float w[S], most = -INFINITY, sum = 0;
  for (int j = 0; j < keys; j++) {
    w[j] = product(q, k + j * E, form) * scale;
    most = fmaxf(most, w[j]);
  }
  for (int j = 0; j < keys; j++) {
    w[j] = form == POWERS_OF_TWO ? exp2f(w[j] - most) : expf(w[j] - most);
    w[j] = coarse ? fewer_bits(w[j], 8) : w[j];
    sum += w[j];
  }
  for (int c = 0; c < E; c++) {
    y[c] = 0;
    for (int j = 0; j < keys; j++)
      y[c] += w[j] / sum * (form == TF32_VALUES ? fewer_bits(v[j * E + c], 11) : v[j * E + c]);
  }
}

static void kernel(float *const in[3], enum form form, float *y) {
  for (int i = 0; i < HEADS * S; i++) {
    int head = i / S * S * E;
    attend(in[0] + i * E, in[1] + head, in[2] + head, i, form, y + i * E);
  }
}

struct asked {
  bool pass, first; // first: the first look alone
};

static enum assay_reason look(const struct task *t, struct question *q, int replicas, const float *y, bool *doubtful) {
  struct assay_error err = {0};
  const struct assay_judge_options o = {.rule = ASSAY_RULE_CONTRACT, .threads = 1};
  struct assay_check c = {0};
  const void *out[1] = {y};
  if (!q->answer.y)
    assert_int_equal(question_answer(t, q, replicas, 1, &err), ASSAY_OK);
  assert_true(q->answer.representable);
  assert_int_equal(question_check(t, q, out, POISON_NAN, &o, &c, &err), ASSAY_OK);
  enum assay_reason reason = c.reason;
  *doubtful = question_drop_doubtful(&o, &c, 1);
  base_free(c.description);
  return reason;
}

// All forms of one question. As check_twice of judge/exam.c, with the answers made once.
static void ask(const struct task *t, enum probe probe, uint64_t seed, struct asked asked[FORMS]) {
  struct assay_error err = {0};
  struct binding bindings[] = {{"B", 2}, {"H", HEADS / 2}, {"S", S}, {"E", E}};
  const struct workload w = {.name = "small", .n = 4, .bindings = bindings};
  struct layout layout;
  float *in[3], *y = base_alloc(N * sizeof *y);
  for (int i = 0; i < 3; i++)
    assert_non_null(in[i] = base_alloc(N * sizeof *y));
  assert_int_equal(layout_make(t, &w, &layout, &err), ASSAY_OK);
  struct question q = {.layout = &layout, .probe = probe, .key = rng_derive(seed, 5)}, second = q;
  second.again = true;
  assert_int_equal(task_make_inputs(t, &w, probe, q.key, 1, (void *[]){in[0], in[1], in[2]}, &err), ASSAY_OK);
  for (int f = 0; f < FORMS; f++) {
    bool doubtful;
    kernel(in, (enum form)f, y);
    asked[f].pass = asked[f].first = look(t, &q, REPLICAS, y, &doubtful) == ASSAY_REASON_PASS;
    if (doubtful)
      asked[f].pass = look(t, &second, QUESTION_MORE, y, &doubtful) == ASSAY_REASON_PASS;
  }
  question_release(&q);
  question_release(&second);
  layout_release(&layout);
  for (int i = 0; i < 3; i++)
    base_free(in[i]);
  base_free(y);
}

struct work {
  const struct task *task;
  enum probe probe;
  uint64_t first;
  struct asked (*all)[FORMS];
};

static void ask_range(void *arg, int64_t begin, int64_t end) {
  const struct work *w = arg;
  for (int64_t i = begin; i < end; i++)
    ask(w->task, w->probe, w->first + (uint64_t)i, w->all[i]);
}

struct count {
  int refused, first;
};

static void ask_many(enum probe probe, uint64_t first, int n, struct count counts[FORMS]) {
  struct task t;
  struct assay_error err = {0};
  if (task_read(ASSAY_SOURCE_DIR "/tasks/kernelbench/level1/097_attention.onnxtxt", false, &t, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  struct work w = {.task = &t, .probe = probe, .first = first, .all = base_calloc((size_t)n, sizeof *w.all)};
  assert_non_null(w.all);
  parallel_for(parallel_cpus(), n, 1, ask_range, &w);
  memset(counts, 0, FORMS * sizeof *counts);
  for (int f = 0; f < FORMS; f++) {
    for (int i = 0; i < n; i++) {
      counts[f].refused += !w.all[i][f].pass;
      counts[f].first += !w.all[i][f].first;
    }
    print_message("%s, %s: %d questions, %d fail the first look, %d are refused\n", probe_name(probe), form_names[f], n,
                  counts[f].first, counts[f].refused);
  }
  base_free(w.all);
  task_release(&t);
}

static void honest_kernels_pass(void **state) {
  (void)state;
  struct count counts[FORMS];
  int first = 0;
  ask_many(PROBE_HEAVY_MEAN, 99, 9, counts); // 101 and 106 were refused
  for (int f = 0; f < HONEST; f++) {
    assert_int_equal(counts[f].refused, 0);
    first += counts[f].first;
  }
  assert_true(first > 0);
}

// A verdict asks with the task's own inputs at least five times.
static void wrong_kernels_do_not(void **state) {
  (void)state;
  enum { QUESTIONS = 5 };
  struct count counts[FORMS];
  ask_many(PROBE_DECLARED, 1, QUESTIONS, counts);
  for (int f = 0; f < FORMS; f++)
    assert_int_equal(counts[f].refused, f < HONEST ? 0 : QUESTIONS);
}

int main(int argc, char **argv) {
  if (argc > 1) {
    struct count counts[FORMS];
    for (int p = 0; p < 2; p++)
      ask_many(p ? PROBE_DECLARED : PROBE_HEAVY_MEAN, argc > 2 ? strtoull(argv[2], NULL, 10) : 1, atoi(argv[1]),
               counts);
    return 0;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(honest_kernels_pass),
      cmocka_unit_test(wrong_kernels_do_not),
  };
  return cmocka_run_group_tests_name("long tails", tests, NULL, NULL);
}
