// SPDX-License-Identifier: Apache-2.0
// Attention in half precision, as one operator. PyTorch's own is several: it stores scores, scaled scores and weights
// in the tensors' type; its mathematical form scales queries and keys and stores those; a flash kernel stores weights
// before they are divided by their sum; a fused one stores nothing. All of these are right. What sums in the storage
// type, leaves keys out or rounds to the next lower precision is not. Each is judged as the exam judges it, second look
// included.
//
// Without arguments a few shapes of each; `test_half_attention N [FIRST]` takes N from seed FIRST on, and prints the
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

enum { REPLICAS = 16, HEADS = 2, KEYS_MOST = 512 };

enum way { EAGER, SCALED, FLASH, FUSED, HONEST, SUMS_ROUNDED = HONEST, LAST_EIGHTH_LEFT_OUT, LOWER, WAYS };
static const char *const way_names[WAYS] = {"scores, scaled scores and weights stored",
                                            "scaled queries and keys, scores and weights stored",
                                            "weights stored before they are divided",
                                            "nothing stored inside",
                                            "sums in the storage type",
                                            "an eighth of the keys left out",
                                            "scores and weights in the next lower precision"};

struct kernel {
  enum dtype type;
  enum way way;
  bool causal;
  int64_t s, e;
};

static float as(enum dtype type, float x) {
  uint8_t bits[2];
  double d = (double)x;
  dtype_from_f64(type, &d, 1, bits);
  dtype_to_f64(type, bits, 1, &d);
  return (float)d;
}

// What is stored between two steps.
static float stored(const struct kernel *k, float x) {
  if (k->way == LOWER) // 8 bits for fp16's 11, 4 for bf16's 8
    return isfinite(x) && k->type == DTYPE_FLOAT16
               ? as(DTYPE_BFLOAT16, x)
               : ldexpf(rintf(ldexpf(x, 4 - ilogbf(x + 0x1p-100f))), ilogbf(x + 0x1p-100f) - 4);
  return k->way == EAGER || k->way == SCALED ? as(k->type, x) : x;
}

static float added(const struct kernel *k, float sum, float term) {
  return k->way == SUMS_ROUNDED ? as(k->type, sum + term) : sum + term;
}

static float score(const struct kernel *k, const float *q, const float *key) {
  float sum = 0, half = sqrtf(1 / sqrtf((float)k->e));
  for (int64_t c = 0; c < k->e; c++)
    sum = added(k, sum, k->way == SCALED ? as(k->type, q[c] * half) * as(k->type, key[c] * half) : q[c] * key[c]);
  return k->way == SCALED ? stored(k, sum) : stored(k, stored(k, sum) / sqrtf((float)k->e));
}

static void attend(const struct kernel *k, const float *q, const float *keys, const float *v, int64_t n, uint16_t *y) {
  float w[KEYS_MOST], most = -INFINITY, sum = 0;
  n = k->way == LAST_EIGHTH_LEFT_OUT ? n - n / 8 : n;
  for (int64_t j = 0; j < n; j++) {
    w[j] = score(k, q, keys + j * k->e);
    most = fmaxf(most, w[j]);
  }
  for (int64_t j = 0; j < n; j++) {
    w[j] = expf(w[j] - most);
    sum = added(k, sum, w[j]);
  }
  for (int64_t j = 0; j < n; j++)
    w[j] = k->way == FLASH ? as(k->type, w[j]) : stored(k, w[j] / sum);
  for (int64_t c = 0; c < k->e; c++) {
    float out = 0;
    for (int64_t j = 0; j < n; j++)
      out = added(k, out, w[j] * v[j * k->e + c]);
    double d = (double)(k->way == FLASH ? out / sum : out);
    dtype_from_f64(k->type, &d, 1, &y[c]);
  }
}

static void run(const struct kernel *k, float *const in[3], uint16_t *y) {
  for (int64_t i = 0; i < HEADS * k->s; i++) {
    int64_t head = i / k->s * k->s * k->e;
    attend(k, in[0] + i * k->e, in[1] + head, in[2] + head, k->causal ? i % k->s + 1 : k->s, y + i * k->e);
  }
}

static void make_task(const struct kernel *k, struct task *t) {
  char text[1024];
  struct assay_error err = {0};
  const bool bf16 = k->type == DTYPE_BFLOAT16;
  const char *type = bf16 ? "bfloat16" : "float16";
  int n = snprintf(text, sizeof text,
                   "<ir_version: 10, opset_import: [\"\" : 23], metadata_props: [\"assay.task\" : \"test/attention\","
                   " \"assay.contract\" : \"%s\", \"assay.workload.small\" : \"S=%lld, E=%lld\","
                   " \"assay.workload.full\" : \"S=1, E=1\", \"assay.input.q\" : \"normal(0, 1)\","
                   " \"assay.input.k\" : \"normal(0, 1)\", \"assay.input.v\" : \"normal(0, 1)\"]>\n"
                   "attention (%s[1,%d,S,E] q, %s[1,%d,S,E] k, %s[1,%d,S,E] v) => (%s[1,%d,S,E] y) "
                   "{ y = Attention<is_causal = %d>(q, k, v) }\n",
                   bf16 ? "bf16" : "fp16", (long long)k->s, (long long)k->e, type, HEADS, type, HEADS, type, HEADS,
                   type, HEADS, k->causal);
  if (task_parse(text, (size_t)n, "attention.onnxtxt", false, t, &err) != ASSAY_OK)
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

static const enum probe probes[] = {PROBE_DECLARED, PROBE_ZERO_MEAN, PROBE_ROW_SCALES, PROBE_INTEGERS};
enum { PROBES = sizeof probes / sizeof *probes };

struct counts {
  int questions[WAYS], refused[WAYS], verdicts[WAYS], failed[WAYS];
};

static bool is_asked(const struct kernel *k, int way) {
  return way < HONEST || k->s >= 256; // too few terms for some to matter
}

static void ask(struct kernel k, const struct task *t, struct question *q, bool refused[WAYS], struct counts *c) {
  struct assay_error err = {0};
  int64_t n = HEADS * k.s * k.e;
  uint16_t *raw[4];
  float *x[3];
  for (int i = 0; i < 4; i++)
    assert_non_null(raw[i] = base_calloc((size_t)n, sizeof *raw[i]));
  assert_int_equal(task_make_inputs(t, q->layout->workload, q->probe, q->key, 1, (void *const *)raw, &err), ASSAY_OK);
  for (int i = 0; i < 3; i++) {
    assert_non_null(x[i] = base_calloc((size_t)n, sizeof *x[i]));
    for (int64_t j = 0; j < n; j++) {
      double d;
      dtype_to_f64(k.type, &raw[i][j], 1, &d);
      x[i][j] = (float)d;
    }
  }
  for (int way = 0; way < WAYS; way++) {
    if (!is_asked(&k, way))
      continue;
    k.way = (enum way)way;
    run(&k, x, raw[3]);
    bool bad = is_refused(t, q, raw[3]);
    c->questions[way]++;
    c->failed[way] += bad;
    refused[way] = refused[way] || bad;
  }
  for (int i = 0; i < 4; i++)
    base_free(raw[i]);
  for (int i = 0; i < 3; i++)
    base_free(x[i]);
}

static int64_t trials = 4;
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
    c->verdicts[way] += is_asked(k, way);
    c->refused[way] += refused[way];
  }
  layout_release(&l);
  task_release(&t);
}

static void test_both_rates(void **state) {
  static const int64_t keys[] = {256, 33, 128, 7}, sizes[] = {64, 32, 17};
  (void)state;
  if (table)
    printf("| contract | kernel | verdicts | refused | questions | failed |\n|---|---|---|---|---|---|\n");
  for (int half = 0; half < 2; half++) {
    struct counts c = {0};
    struct kernel k = {.type = half ? DTYPE_FLOAT16 : DTYPE_BFLOAT16};
    for (int64_t i = 0; i < trials; i++) {
      k.s = keys[i % 4];
      k.e = sizes[i % 3];
      k.causal = i / 4 % 2;
      judge(&k, rng_derive(first_seed * 1000 + (uint64_t)half, (uint64_t)i), &c);
    }
    for (int way = 0; way < WAYS; way++) {
      if (table)
        printf("| %s | %s | %d | %d | %d | %d |\n", half ? "fp16" : "bf16", way_names[way], c.verdicts[way],
               c.refused[way], c.questions[way], c.failed[way]);
      else if (way < HONEST)
        assert_int_equal(c.failed[way], 0);
      else
        assert_int_equal(c.refused[way], c.verdicts[way]);
    }
  }
}

int main(int argc, char **argv) {
  table = argc > 1;
  trials = argc > 1 ? atoll(argv[1]) : trials;
  first_seed = argc > 2 ? strtoull(argv[2], NULL, 0) : first_seed;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_both_rates)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
