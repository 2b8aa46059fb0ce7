// SPDX-License-Identifier: Apache-2.0
// logsumexp in half precision, alone and in a chain. PyTorch's own rounds after each of its six steps, a fused kernel
// nowhere: both are right. What sums in the storage type, leaves terms out or rounds to fewer bits is not. Each is
// judged as the exam judges it, second look included.
//
// Without arguments 7 shapes of each; `test_half_log_sum_exp N [FIRST]` takes N from seed FIRST on, and prints the
// table of docs/evidence/numerics.md.
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
#include "judge/question.h"

enum { REPLICAS = 16 };

enum way { EVERY_STEP, NO_STEP, HONEST, SUMS_ROUNDED = HONEST, QUARTER_LEFT_OUT, FEWER_BITS, WAYS };
static const char *const way_names[WAYS] = {"rounded after every step", "rounded nowhere inside",
                                            "the sum in the storage type", "a quarter of the terms left out",
                                            "the result in 3 bits fewer"};

struct kernel {
  enum dtype type;
  enum way way;
  bool chain; // x - logsumexp(x), else logsumexp(x)
  int64_t m, n;
};

static float rounded(const struct kernel *k, float x) {
  uint16_t bits;
  double d = (double)x;
  dtype_from_f64(k->type, &d, 1, &bits);
  dtype_to_f64(k->type, &bits, 1, &d);
  return (float)d;
}

// What goes from one step to the next.
static float step(const struct kernel *k, float x) {
  return k->way == EVERY_STEP ? rounded(k, x) : x;
}

static float fewer(float x) {
  int exponent;
  float m = frexpf(x, &exponent);
  return ldexpf(rintf(ldexpf(m, 5)), exponent - 5);
}

static float log_sum_exp(const struct kernel *k, const float *x) {
  float most = -INFINITY, sum = 0;
  int64_t n = k->way == QUARTER_LEFT_OUT ? k->n - k->n / 4 : k->n;
  for (int64_t i = 0; i < n; i++)
    most = fmaxf(most, x[i]);
  for (int64_t i = 0; i < n; i++) {
    sum += step(k, expf(step(k, x[i] - most)));
    sum = k->way == SUMS_ROUNDED ? rounded(k, sum) : sum;
  }
  return step(k, step(k, logf(step(k, sum))) + most);
}

static void run(const struct kernel *k, const float *x, uint16_t *y) {
  for (int64_t r = 0; r < k->m; r++) {
    float by = log_sum_exp(k, x + r * k->n);
    for (int64_t i = 0; i < (k->chain ? k->n : 1); i++) {
      float out = k->chain ? x[r * k->n + i] - by : by;
      double d = (double)(k->way == FEWER_BITS ? fewer(out) : out);
      dtype_from_f64(k->type, &d, 1, &y[r * (k->chain ? k->n : 1) + i]);
    }
  }
}

static void make_task(const struct kernel *k, struct task *t) {
  char text[1024];
  struct assay_error err = {0};
  const bool bf16 = k->type == DTYPE_BFLOAT16;
  const char *type = bf16 ? "bfloat16" : "float16";
  int n = snprintf(text, sizeof text,
                   "<ir_version: 10, opset_import: [\"\" : 23], metadata_props: [\"assay.task\" : \"test/lse\","
                   " \"assay.contract\" : \"%s\", \"assay.workload.small\" : \"M=%lld, N=%lld\","
                   " \"assay.workload.full\" : \"M=1, N=1\", \"assay.input.x\" : \"normal(0, 1)\"]>\n"
                   "lse (%s[M,N] x) => (%s[M,%s] y) <int64[1] axis = {-1}> { %s = ReduceLogSumExp(x, axis) %s }\n",
                   bf16 ? "bf16" : "fp16", (long long)k->m, (long long)k->n, type, type, k->chain ? "N" : "1",
                   k->chain ? "l" : "y", k->chain ? "y = Sub(x, l)" : "");
  if (task_parse(text, (size_t)n, "lse.onnxtxt", false, t, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
}

static bool fails(const struct task *t, struct question *q, const uint16_t *y, bool *doubtful) {
  struct assay_error err = {0};
  const struct assay_judge_options o = {.rule = ASSAY_RULE_CONTRACT, .threads = 1};
  struct assay_check c = {0};
  const void *out[1] = {y};
  assert_int_equal(question_check(t, q, out, POISON_NAN, &o, &c, &err), ASSAY_OK);
  bool failed = c.reason != ASSAY_REASON_PASS;
  *doubtful = question_drop_doubtful(&o, &c, 1);
  base_free(c.description);
  return failed;
}

// As check_twice of judge/exam.c.
static bool is_refused(const struct task *t, struct question *q, const uint16_t *y) {
  struct assay_error err = {0};
  bool doubtful, failed = fails(t, q, y, &doubtful);
  if (!doubtful)
    return failed;
  struct question again = {.layout = q->layout, .probe = q->probe, .key = q->key, .again = true};
  assert_int_equal(question_answer(t, &again, QUESTION_MORE, 1, &err), ASSAY_OK);
  failed = fails(t, &again, y, &doubtful);
  question_release(&again);
  return failed;
}

static const enum probe probes[] = {PROBE_DECLARED, PROBE_ZERO_MEAN, PROBE_ROW_SCALES, PROBE_HEAVY_MEAN,
                                    PROBE_INTEGERS};
enum { PROBES = sizeof probes / sizeof *probes };

struct counts {
  int questions[WAYS], refused[WAYS], verdicts[WAYS], failed[WAYS];
};

static void ask(struct kernel k, const struct task *t, struct question *q, bool refused[WAYS], struct counts *c) {
  struct assay_error err = {0};
  int64_t n = k.m * k.n;
  uint16_t *in = base_calloc((size_t)n, sizeof *in), *y = base_calloc((size_t)n, sizeof *y);
  float *x = base_calloc((size_t)n, sizeof *x);
  void *buffers[1] = {in};
  assert_true(in && y && x);
  assert_int_equal(task_make_inputs(t, q->layout->workload, q->probe, q->key, 1, buffers, &err), ASSAY_OK);
  for (int64_t i = 0; i < n; i++) {
    double d;
    dtype_to_f64(k.type, &in[i], 1, &d);
    x[i] = (float)d;
  }
  for (int way = 0; way < WAYS; way++) {
    if (way >= HONEST && k.n < 1024) // too few terms for some to matter
      continue;
    k.way = (enum way)way;
    run(&k, x, y);
    bool bad = is_refused(t, q, y);
    c->questions[way]++;
    c->failed[way] += bad;
    refused[way] = refused[way] || bad;
  }
  base_free(in);
  base_free(y);
  base_free(x);
}

static int64_t trials = 7;
static uint64_t first_seed = 1;
static bool table;

static void judge(const struct kernel *k, uint64_t seed, struct counts *c) {
  struct task t;
  struct layout l;
  struct assay_error err = {0};
  bool refused[WAYS] = {false};
  make_task(k, &t);
  assert_int_equal(layout_make(&t, &t.workloads[0], &l, &err), ASSAY_OK);
  for (int p = 0; p < PROBES; p++) {
    struct question q = {.layout = &l, .probe = probes[p], .key = rng_derive(seed, (uint64_t)p)};
    assert_int_equal(question_answer(&t, &q, REPLICAS, 1, &err), ASSAY_OK);
    if (question_is_asked(&q))
      ask(*k, &t, &q, refused, c);
    question_release(&q);
  }
  for (int way = 0; way < WAYS; way++) {
    c->verdicts[way] += way < HONEST || k->n >= 1024;
    c->refused[way] += refused[way];
  }
  layout_release(&l);
  task_release(&t);
}

static void test_both_rates(void **state) {
  static const int64_t rows[] = {1, 2, 5, 16}, lengths[] = {2, 5, 33, 128, 333, 1024, 1024};
  (void)state;
  if (table)
    printf(
        "| contract | operators | kernel | verdicts | refused | questions | failed |\n|---|---|---|---|---|---|---|\n");
  for (int half = 0; half < 4; half++) {
    struct counts c = {0};
    struct kernel k = {.type = half < 2 ? DTYPE_BFLOAT16 : DTYPE_FLOAT16, .chain = half % 2};
    for (int64_t i = 0; i < trials; i++) {
      k.m = rows[i % 4];
      k.n = lengths[i % 7];
      judge(&k, rng_derive(first_seed * 1000 + (uint64_t)half, (uint64_t)i), &c);
    }
    for (int way = 0; way < WAYS; way++) {
      if (table)
        printf("| %s | %s | %s | %d | %d | %d | %d |\n", half < 2 ? "bf16" : "fp16", k.chain ? "x - lse(x)" : "lse(x)",
               way_names[way], c.verdicts[way], c.refused[way], c.questions[way], c.failed[way]);
      else if (way < HONEST)
        assert_int_equal(c.failed[way], 0);
      else
        assert_int_equal(c.refused[way], c.verdicts[way]);
    }
  }
}

// The steps are the same function: infinities, all axes, axes that go away.
static void test_same_function(void **state) {
  (void)state;
  static const char *const bodies[] = {"y = ReduceLogSumExp<keepdims = 0>(x)",
                                       "y = ReduceLogSumExp<keepdims = 0>(x, axes)", "y = ReduceLogSumExp(x, axes)"};
  static const char *const shapes[] = {"", "[2]", "[2,1]"};
  for (int i = 0; i < 3; i++) {
    char text[1024];
    struct task t;
    struct assay_error err = {0};
    uint16_t in[6] = {0x3f80, 0xff80, 0x7f80, 0xff80, 0xff80, 0xff80}; // 1 -Inf Inf; -Inf -Inf -Inf
    const struct tensor x = {.type = {.dtype = DTYPE_BFLOAT16, .shape = {.rank = 2, .dims = {2, 3}}}, .data = in};
    struct array inputs[1] = {0}, y[2] = {0};
    int n = snprintf(
        text, sizeof text,
        "<ir_version: 10, opset_import: [\"\" : 23], metadata_props: [\"assay.task\" : \"test/same\","
        " \"assay.contract\" : \"bf16\", \"assay.workload.small\" : \"M=2\", \"assay.workload.full\" : \"M=2\","
        " \"assay.input.x\" : \"normal(0, 1)\"]>\n"
        "same (bfloat16[M,3] x) => (bfloat16%s y) <int64[1] axes = {1}> { %s }\n",
        shapes[i], bodies[i]);
    if (task_parse(text, (size_t)n, "same.onnxtxt", false, &t, &err) != ASSAY_OK)
      fail_msg("%s", err.message);
    assert_int_equal(t.model.flat.n_nodes, 1);
    assert_true(task_oracle_graph(&t)->n_nodes > 6);
    assert_int_equal(array_from_tensor(&x, &inputs[0], &err), ASSAY_OK);
    for (int steps = 0; steps < 2; steps++) {
      const struct oracle_request r = {.graph = steps ? task_oracle_graph(&t) : &t.model.flat,
                                       .inputs = inputs,
                                       .arith = arith_truth(&t.contract.arith),
                                       .threads = 1};
      if (oracle_eval(&r, &y[steps], &err) != ASSAY_OK)
        fail_msg("%s", err.message);
    }
    assert_true(shape_equal(&y[0].shape, &y[1].shape));
    assert_memory_equal(y[0].f64, y[1].f64, (size_t)shape_count(&y[0].shape) * sizeof(double));
    assert_true(isinf(y[1].f64[0]) && y[1].f64[0] > 0);
    assert_true(i == 0 || (isinf(y[1].f64[1]) && y[1].f64[1] < 0));
    array_release(&inputs[0]);
    array_release(&y[0]);
    array_release(&y[1]);
    task_release(&t);
  }
}

int main(int argc, char **argv) {
  table = argc > 1;
  trials = argc > 1 ? atoll(argv[1]) : trials;
  first_seed = argc > 2 ? strtoull(argv[2], NULL, 0) : first_seed;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_both_rates), cmocka_unit_test(test_same_function)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
