// SPDX-License-Identifier: Apache-2.0
// LSTM and GRU in half precision, as one operator. PyTorch's cell on a processor stores what goes from one of its steps
// to the next in the tensors' type; its fused cell on a GPU stores both parts of the gates and both states; cuDNN's
// keeps all but the state in single precision, and a kernel that goes through the whole sequence may store nothing. All
// of these are right. What sums in the storage type, leaves terms out or rounds to the next lower precision is not.
// Each is judged as the exam judges it, second look included.
//
// Without arguments a few shapes of each; `test_half_recurrent N [FIRST]` takes N from seed FIRST on, and prints the
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
#include "ops/recurrent.h"

enum { REPLICAS = 16, BATCH = 2, HIDDEN_MOST = 128, GATES_MOST = 4 };

enum way { EAGER, FUSED_CELL, CUDNN, FUSED, HONEST, SUMS_ROUNDED = HONEST, LAST_QUARTER_LEFT_OUT, LOWER, WAYS };
static const char *const way_names[WAYS] = {"all stored",
                                            "both parts of gates and both states stored",
                                            "the state stored",
                                            "nothing stored inside",
                                            "sums in the storage type",
                                            "a quarter of the terms left out",
                                            "all in the next lower precision"};
#define AT(place) (1u << RECURRENT_STORE_##place)
static const unsigned stores[WAYS] = {~0u, AT(INPUT) | AT(STATE) | AT(CELL) | AT(HIDDEN), AT(HIDDEN), 0, 0, 0, ~0u};

struct kernel {
  enum dtype type;
  enum way way;
  bool gru;
  int64_t steps, input, hidden;
};

static float as(enum dtype type, float x) {
  uint8_t bits[2];
  double d = (double)x;
  dtype_from_f64(type, &d, 1, bits);
  dtype_to_f64(type, bits, 1, &d);
  return (float)d;
}

// What is stored between two steps.
static float stored(const struct kernel *k, int place, float x) {
  if (!(stores[k->way] >> place & 1))
    return x;
  if (k->way != LOWER)
    return as(k->type, x);
  return k->type == DTYPE_FLOAT16 // 8 bits for fp16's 11, 4 for bf16's 8
             ? as(DTYPE_BFLOAT16, x)
             : ldexpf(rintf(ldexpf(x, 4 - ilogbf(x + 0x1p-100f))), ilogbf(x + 0x1p-100f) - 4);
}

static float dot(const struct kernel *k, const float *x, const float *w, int64_t n, float bias) {
  float sum = 0;
  n = k->way == LAST_QUARTER_LEFT_OUT ? n - n / 4 : n;
  for (int64_t i = 0; i < n; i++)
    sum = k->way == SUMS_ROUNDED ? as(k->type, sum + x[i] * w[i]) : sum + x[i] * w[i];
  return sum + bias;
}

static float sigmoid(float x) {
  return 1 / (1 + expf(-x));
}

// One unit of a step: the parts of its gates in ONNX's order, its state and its cell state.
static float lstm_unit(const struct kernel *k, const float *x, const float *h, float *cell) {
  float gate[4];
  for (int g = 0; g < 4; g++) {
    gate[g] = stored(k, RECURRENT_STORE_SUM, x[g] + h[g]);
    gate[g] = stored(k, RECURRENT_STORE_GATE, g == 3 ? tanhf(gate[g]) : sigmoid(gate[g]));
  }
  float kept = stored(k, RECURRENT_STORE_PRODUCT, gate[2] * *cell);
  *cell = stored(k, RECURRENT_STORE_CELL, kept + stored(k, RECURRENT_STORE_PRODUCT, gate[0] * gate[3]));
  return gate[1] * stored(k, RECURRENT_STORE_SEEN, tanhf(*cell));
}

static float gru_unit(const struct kernel *k, const float *x, const float *h, float state) {
  float z = stored(k, RECURRENT_STORE_GATE, sigmoid(stored(k, RECURRENT_STORE_SUM, x[0] + h[0])));
  float r = stored(k, RECURRENT_STORE_GATE, sigmoid(stored(k, RECURRENT_STORE_SUM, x[1] + h[1])));
  float c = stored(k, RECURRENT_STORE_SUM, x[2] + stored(k, RECURRENT_STORE_PRODUCT, r * h[2]));
  c = stored(k, RECURRENT_STORE_GATE, tanhf(c));
  return c + stored(k, RECURRENT_STORE_PRODUCT, z * stored(k, RECURRENT_STORE_SEEN, state - c));
}

// in: x [steps, batch, input], w [gates, hidden, input], r [gates, hidden, hidden], bias [2, gates, hidden].
static void run_batch(const struct kernel *k, float *const in[4], int64_t b, uint16_t *y) {
  float h[HIDDEN_MOST] = {0}, next[HIDDEN_MOST], cell[HIDDEN_MOST] = {0};
  const int64_t gates = k->gru ? 3 : 4, n = k->hidden;
  for (int64_t t = 0; t < k->steps; t++) {
    for (int64_t j = 0; j < n; j++) {
      float from_x[GATES_MOST], from_h[GATES_MOST];
      for (int64_t g = 0; g < gates; g++) {
        const float *x = in[0] + (t * BATCH + b) * k->input, *bias = in[3] + g * n + j;
        from_x[g] = stored(k, RECURRENT_STORE_INPUT, dot(k, x, in[1] + (g * n + j) * k->input, k->input, bias[0]));
        from_h[g] = stored(k, RECURRENT_STORE_STATE, dot(k, h, in[2] + (g * n + j) * n, n, bias[gates * n]));
      }
      next[j] = k->gru ? gru_unit(k, from_x, from_h, h[j]) : lstm_unit(k, from_x, from_h, &cell[j]);
    }
    for (int64_t j = 0; j < n; j++) {
      double d = (double)next[j];
      h[j] = stored(k, RECURRENT_STORE_HIDDEN, next[j]);
      dtype_from_f64(k->type, &d, 1, &y[(t * BATCH + b) * n + j]);
      if (k->way == LOWER) {
        d = (double)h[j];
        dtype_from_f64(k->type, &d, 1, &y[(t * BATCH + b) * n + j]);
      }
    }
  }
}

static void make_task(const struct kernel *k, struct task *t) {
  char text[2048];
  struct assay_error err = {0};
  const bool bf16 = k->type == DTYPE_BFLOAT16;
  const char *type = bf16 ? "bfloat16" : "float16";
  const int gates = k->gru ? 3 : 4;
  int n = snprintf(text, sizeof text,
                   "<ir_version: 10, opset_import: [\"\" : 23], metadata_props: [\"assay.task\" : \"test/recurrent\","
                   " \"assay.contract\" : \"%s\", \"assay.workload.small\" : \"S=%lld, I=%lld\","
                   " \"assay.workload.full\" : \"S=1, I=1\", \"assay.input.x\" : \"normal(0, 1)\","
                   " \"assay.input.w\" : \"uniform(-0.125, 0.125) static\","
                   " \"assay.input.r\" : \"uniform(-0.125, 0.125) static\","
                   " \"assay.input.b\" : \"uniform(-0.125, 0.125) static\"]>\n"
                   "recurrent (%s[S,%d,I] x, %s[1,%lld,I] w, %s[1,%lld,%lld] r, %s[1,%lld] b) => (%s[S,1,%d,%lld] y) "
                   "{ y = %s(x, w, r, b) }\n",
                   bf16 ? "bf16" : "fp16", (long long)k->steps, (long long)k->input, type, BATCH, type,
                   (long long)(gates * k->hidden), type, (long long)(gates * k->hidden), (long long)k->hidden, type,
                   (long long)(2 * gates * k->hidden), type, BATCH, (long long)k->hidden,
                   k->gru ? "GRU<linear_before_reset = 1>" : "LSTM");
  if (task_parse(text, (size_t)n, "recurrent.onnxtxt", false, t, &err) != ASSAY_OK)
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

static const enum probe probes[] = {PROBE_DECLARED, PROBE_ROW_SCALES, PROBE_INTEGERS};
enum { PROBES = sizeof probes / sizeof *probes };

struct counts {
  int questions[WAYS], refused[WAYS], verdicts[WAYS], failed[WAYS];
};

static bool is_asked(const struct kernel *k, int way) {
  return way < HONEST || k->hidden >= 96; // too few terms for some to matter
}

static void ask(struct kernel k, const struct layout *l, const struct task *t, struct question *q, bool refused[WAYS],
                struct counts *c) {
  struct assay_error err = {0};
  uint16_t *raw[5];
  float *x[4];
  for (int i = 0; i < 5; i++)
    assert_non_null(raw[i] = base_calloc(1, i < 4 ? tensor_type_bytes(&l->in[i]) : (size_t)l->output_bytes));
  assert_int_equal(task_make_inputs(t, l->workload, q->probe, q->key, 1, (void *const *)raw, &err), ASSAY_OK);
  for (int i = 0; i < 4; i++) {
    int64_t n = tensor_type_count(&l->in[i]);
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
    for (int64_t b = 0; b < BATCH; b++)
      run_batch(&k, x, b, raw[4]);
    bool bad = is_refused(t, q, raw[4]);
    c->questions[way]++;
    c->failed[way] += bad;
    refused[way] = refused[way] || bad;
  }
  for (int i = 0; i < 5; i++)
    base_free(raw[i]);
  for (int i = 0; i < 4; i++)
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
      ask(*k, &l, &t, &q, refused, c);
    question_release(&q);
  }
  for (int way = 0; way < WAYS; way++) {
    c->verdicts[way] += is_asked(k, way);
    c->refused[way] += refused[way];
  }
  layout_release(&l);
  task_release(&t);
}

static void show_counts(const struct kernel *k, const struct counts *c) {
  for (int way = 0; way < WAYS; way++) {
    if (table)
      printf("| %s | %s | %s | %d | %d | %d | %d |\n", k->type == DTYPE_FLOAT16 ? "fp16" : "bf16",
             k->gru ? "GRU" : "LSTM", way_names[way], c->verdicts[way], c->refused[way], c->questions[way],
             c->failed[way]);
    else if (way < HONEST)
      assert_int_equal(c->failed[way], 0);
    else
      assert_int_equal(c->refused[way], c->verdicts[way]);
  }
}

static void test_both_rates(void **state) {
  static const int64_t steps[] = {6, 1, 12, 3}, sizes[] = {128, 33, 64, 7}, inputs[] = {64, 17, 128};
  (void)state;
  if (table)
    printf(
        "| contract | operator | kernel | verdicts | refused | questions | failed |\n|---|---|---|---|---|---|---|\n");
  for (int i = 0; i < 4; i++) {
    struct counts c = {0};
    struct kernel k = {.type = i / 2 ? DTYPE_FLOAT16 : DTYPE_BFLOAT16, .gru = i % 2};
    for (int64_t j = 0; j < trials; j++) {
      k.steps = steps[j % 4];
      k.hidden = sizes[j % 4];
      k.input = inputs[j % 3];
      judge(&k, rng_derive(first_seed * 1000 + (uint64_t)i, (uint64_t)j), &c);
    }
    show_counts(&k, &c);
  }
}

int main(int argc, char **argv) {
  table = argc > 1;
  trials = argc > 1 ? atoll(argv[1]) : trials;
  first_seed = argc > 2 ? strtoull(argv[2], NULL, 0) : first_seed;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_both_rates)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
