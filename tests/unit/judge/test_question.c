// SPDX-License-Identifier: Apache-2.0
// What an answer is compared with among subnormal numbers: sums may lose what a GPU's atomics flush, nothing else may.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "judge/question.h"

enum { ROWS = 4096, COLUMNS = 64, COUNT = ROWS * COLUMNS };

static struct task task_of(const char *signature, const char *body, const char *contract) {
  char text[2048];
  struct task t = {0};
  struct assay_error err = {0};
  int n = snprintf(text, sizeof text,
                   "<ir_version: 10, opset_import: [\"\" : 23], metadata_props: [\"assay.task\" : \"test/flush\","
                   " \"assay.contract\" : \"%s\", \"assay.workload.small\" : \"M=%d, N=%d\","
                   " \"assay.workload.full\" : \"M=%d, N=%d\", \"assay.input.x\" : \"normal(0, 1)\"]>\n"
                   "flush %s { %s }\n",
                   contract, ROWS, COLUMNS, ROWS, COLUMNS, signature, body);
  if (task_parse(text, (size_t)n, "flush.onnxtxt", false, &t, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  return t;
}

static float flushed(float x) {
  return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

// Answers for x [M, N]: y [1, N] or [M, N].
typedef void answer_fn(const float *x, float *y);

// Sums of `parts` parts of a column, which meet as atomicAdd makes them meet: terms and results are flushed.
static void add_parts(const float *x, float *y, int parts) {
  for (int j = 0; j < COLUMNS; j++) {
    y[j] = 0;
    for (int p = 0; p < parts; p++) {
      float part = 0;
      for (int i = p * ROWS / parts; i < (p + 1) * ROWS / parts; i++)
        part += x[i * COLUMNS + j];
      y[j] = flushed(y[j] + flushed(part));
    }
  }
}

static void sum_of_8(const float *x, float *y) {
  add_parts(x, y, 8);
}

static void sum_exactly(const float *x, float *y) {
  for (int j = 0; j < COLUMNS; j++) {
    double sum = 0;
    for (int i = 0; i < ROWS; i++)
      sum += (double)x[i * COLUMNS + j];
    y[j] = (float)sum;
  }
}

static void sum_of_flushed_terms(const float *x, float *y) {
  add_parts(x, y, ROWS); // every term is subnormal: zero
}

static void sum_off_by_a_little(const float *x, float *y) {
  sum_exactly(x, y);
  for (int j = 0; j < COLUMNS; j++)
    y[j] += 0x1p-122f;
}

static void sum_off_by_more(const float *x, float *y) {
  sum_exactly(x, y);
  for (int j = 0; j < COLUMNS; j++)
    y[j] += 0x1.4p-122f;
}

static void largest(const float *x, float *y) {
  for (int j = 0; j < COLUMNS; j++) {
    y[j] = x[j];
    for (int i = 1; i < ROWS; i++)
      y[j] = fmaxf(y[j], x[i * COLUMNS + j]);
  }
}

static void largest_flushed(const float *x, float *y) {
  largest(x, y);
  for (int j = 0; j < COLUMNS; j++)
    y[j] = flushed(y[j]);
}

static void negative(const float *x, float *y) {
  for (int i = 0; i < COUNT; i++)
    y[i] = -x[i];
}

static void negative_flushed(const float *x, float *y) {
  for (int i = 0; i < COUNT; i++)
    y[i] = flushed(-x[i]);
}

static enum assay_reason judged(const struct task *t, answer_fn *answer) {
  static float x[COUNT], y[COUNT];
  struct layout l;
  struct question q = {.layout = &l, .probe = PROBE_SUBNORMAL, .key = 17};
  struct assay_error err = {0};
  struct assay_judge_options o = {.threads = 1};
  struct assay_check check = {0};
  void *inputs[] = {x};
  const void *outputs[] = {y};
  assert_int_equal(layout_make(t, task_workload(t, "small"), &l, &err), ASSAY_OK);
  assert_int_equal(question_answer(t, &q, 8, 2, &err), ASSAY_OK);
  assert_true(q.answer.representable);
  assert_int_equal(task_make_inputs(t, l.workload, PROBE_SUBNORMAL, 17, 2, inputs, &err), ASSAY_OK);
  answer(x, y);
  assert_int_equal(question_check(t, &q, outputs, POISON_NAN, &o, &check, &err), ASSAY_OK);
  base_free(check.description);
  question_release(&q);
  layout_release(&l);
  return check.reason;
}

static void test_sums_may_be_flushed(void **state) {
  (void)state;
  struct task t = task_of("(float[M, N] x) => (float[1, N] y) <int64[1] axis = {0}>",
                          "y = ReduceSum<keepdims = 1>(x, axis)", "fp32");
  assert_int_equal(judged(&t, sum_exactly), ASSAY_REASON_PASS);
  assert_int_equal(judged(&t, sum_of_8), ASSAY_REASON_PASS);
  assert_int_equal(judged(&t, sum_off_by_a_little), ASSAY_REASON_PASS);
  task_release(&t);
}

// The sums are about 37 times the smallest normal number here, which is more than may be lost. (At the ragged shapes of
// a task, with some hundred terms, they are not much larger than what may.)
static void test_sums_may_not_be_left_out(void **state) {
  (void)state;
  struct task t = task_of("(float[M, N] x) => (float[1, N] y) <int64[1] axis = {0}>",
                          "y = ReduceSum<keepdims = 1>(x, axis)", "fp32");
  assert_int_equal(judged(&t, sum_of_flushed_terms), ASSAY_REASON_WRONG_VALUE);
  assert_int_equal(judged(&t, sum_off_by_more), ASSAY_REASON_WRONG_VALUE);
  task_release(&t);
}

static void test_nothing_else_may_be_flushed(void **state) {
  (void)state;
  struct task t = task_of("(float[M, N] x) => (float[M, N] y)", "y = Neg(x)", "fp32");
  assert_int_equal(judged(&t, negative), ASSAY_REASON_PASS);
  assert_int_equal(judged(&t, negative_flushed), ASSAY_REASON_WRONG_VALUE);
  task_release(&t);
  t = task_of("(float[M, N] x) => (float[1, N] y) <int64[1] axis = {0}>", "y = ReduceMax<keepdims = 1>(x, axis)",
              "fp32");
  assert_int_equal(judged(&t, largest), ASSAY_REASON_PASS);
  assert_int_equal(judged(&t, largest_flushed), ASSAY_REASON_WRONG_VALUE);
  task_release(&t);
}

// Which outputs have sums in them: through other operators, and each output for itself.
static void test_which_outputs_add(void **state) {
  (void)state;
  struct task t = task_of("(float[M, N] x) => (float[M, N] a, float[M, N] b, float[M, 1] c, int64[2] d)"
                          " <int64[1] axis = {1}>",
                          "a = Relu(x) s = Softmax(x) b = Add(s, a) c = ReduceMin(x, axis) d = Shape(s)", "fp32");
  const bool want[] = {false, true, false, false};
  assert_int_equal(t.n_outputs, 4);
  for (int i = 0; i < 4; i++)
    assert_int_equal(t.adds[i], want[i]);
  task_release(&t);
}

// Partial sums are floats under every contract; a result in half precision is coarser than what they may lose.
static void test_half_precision(void **state) {
  (void)state;
  static const struct {
    const char *contract, *type;
    enum dtype dtype;
    double elementwise, sum;
  } rows[] = {{"fp32", "float", DTYPE_FLOAT, 0x1p-149, 0x1p-122},
              {"tf32", "float", DTYPE_FLOAT, 0x1p-149, 0x1p-122},
              {"fp16", "float16", DTYPE_FLOAT16, 0x1p-24, 0x1p-24},
              {"bf16", "bfloat16", DTYPE_BFLOAT16, 0x1p-133, 0x1p-122}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char signature[128];
    const struct tensor_type type = {rows[i].dtype, {.rank = 2, .dims = {ROWS, COLUMNS}}};
    snprintf(signature, sizeof signature, "(%s[M, N] x) => (%s[M, N] y, %s[M, N] z)", rows[i].type, rows[i].type,
             rows[i].type);
    struct task t = task_of(signature, "y = Neg(x) z = Softmax(x)", rows[i].contract);
    assert_true(question_terms(&t, 0, &type, 0).eta_out == rows[i].elementwise);
    assert_true(question_terms(&t, 1, &type, 0).eta_out == rows[i].sum);
    task_release(&t);
  }
}

// Two inputs and an intermediate are worked with as doubles; an answer is a double and a float for each element.
static void test_memory_needed(void **state) {
  (void)state;
  struct assay_judge_options o;
  struct task t = task_of("(float[M, N] x) => (float[M, N] y)", "a = Relu(x) b = Neg(a) y = Relu(b)", "fp32");
  struct layout l = {0};
  struct assay_error err = {0};
  const int64_t part = COUNT;
  assay_judge_defaults(&o);
  if (layout_make(&t, &t.workloads[0], &l, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  assert_int_equal(l.input_bytes, 4 * part);
  assert_int_equal(l.oracle.answer, 12 * part);
  assert_int_equal(l.oracle.working, 8 * part + 2 * 8 * part); // x; a and b live at once, a and y do not
  o.declared_checks = 3;
  o.verified_calls = 10;
  int64_t buffers = 8 * part, answers = 10 * l.oracle.answer, kept = 10 * 4 * part;
  assert_true(layout_keeps_outputs(&l, &o));
  assert_int_equal(layout_judging_bytes(&l, &o), answers + l.oracle.working + buffers + kept);
  l.oracle.answer = (int64_t)200 << 20; // two are held, and a third is made while they are
  assert_int_equal(layout_judging_bytes(&l, &o), 3 * l.oracle.answer + l.oracle.working + buffers + kept);
  l.oracle.answer = (int64_t)1 << 40; // one after another
  assert_int_equal(layout_judging_bytes(&l, &o), l.oracle.answer + l.oracle.working + buffers + kept);
  l.oracle.answer = 12 * part;
  o.verified_calls = 1000; // too many to keep: each is compared at once
  l.output_bytes = (int64_t)1 << 30;
  assert_false(layout_keeps_outputs(&l, &o));
  o.timing = false;
  l.output_bytes = 4 * part;
  assert_int_equal(layout_judging_bytes(&l, &o), 3 * l.oracle.answer + l.oracle.working + buffers);
  layout_release(&l);
  task_release(&t);
}

static struct task checked_task(const char *outputs, const char *body, const char *check) {
  char text[2048];
  struct task t = {0};
  struct assay_error err = {0};
  int n = snprintf(text, sizeof text,
                   "<ir_version: 10, opset_import: [\"\" : 23, \"local\" : 1], metadata_props: [\"assay.task\" : \"t\","
                   " \"assay.contract\" : \"fp32\", \"assay.workload.small\" : \"M=%d, N=%d\","
                   " \"assay.workload.full\" : \"M=%d, N=%d\", \"assay.input.x\" : \"normal(0, 1)\","
                   " \"assay.check\" : \"f\"]>\ng (float[M, N] x) => (%s) { %s }\n"
                   "<domain: \"local\", opset_import: [\"\" : 23]>\nf %s\n",
                   ROWS, COLUMNS, ROWS, COLUMNS, outputs, body, check);
  if (task_parse(text, (size_t)n, "checked.onnxtxt", false, &t, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  return t;
}

// A check works with inputs and outputs as doubles, makes doubles of them, and writes those as floats; an answer takes
// less. Where shapes depend on the outputs, nobody knows beforehand.
static void test_memory_of_a_check(void **state) {
  (void)state;
  struct assay_judge_options o;
  struct task t = checked_task("float[M, N] y", "y = Neg(x)", "(y) => (a, b) { a = Identity(y) b = Abs(y) }");
  struct layout l = {0};
  struct assay_error err = {0};
  const int64_t part = COUNT;
  assay_judge_defaults(&o);
  o.timing = false;
  o.declared_checks = 1;
  if (layout_make(&t, &t.workloads[0], &l, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  assert_int_equal(l.n_judged, 2);
  assert_int_equal(tensor_type_bytes(&l.judged[1]), 4 * part);
  assert_int_equal(l.check_bytes, 2 * 8 * part + 2 * 8 * part + 2 * 4 * part);
  assert_true(l.oracle.working < l.check_bytes);
  assert_int_equal(layout_judging_bytes(&l, &o), l.oracle.answer + l.check_bytes + 8 * part);
  layout_release(&l);
  task_release(&t);
  t = checked_task("float[M, N] y, int64[1] n", "y = Neg(x) n = Constant<value_ints = [-1]>()",
                   "(y, n) => (a) { a = Reshape(y, n) }");
  if (layout_make(&t, &t.workloads[0], &l, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  assert_int_equal(l.check_bytes, 0);
  layout_release(&l);
  task_release(&t);
}

// Outputs that a check refuses, here an index that is outside, are wrong in every value: also where the right ones are
// -1, true or NaN.
static void test_refused_by_the_check(void **state) {
  (void)state;
  static float x[COUNT], y[COUNT];
  struct task t =
      checked_task("float[M, N] y, int64[2] i", "y = Neg(x) i = Constant<value_ints = [3, 4]>()",
                   "(y, i) => (a, less, no, yes, nan) { a = Gather(y, i) z = Sub(i, i) less = BitwiseNot(z) "
                   "no = Less(i, z) yes = Not(no) w = Sub(y, y) nan = Div(w, w) }");
  struct layout l = {0};
  struct question q = {.layout = &l, .probe = PROBE_DECLARED, .key = 17};
  struct assay_error err = {0};
  struct assay_judge_options o = {.threads = 1};
  int64_t indices[2] = {3, 4};
  void *inputs[] = {x};
  const void *outputs[] = {y, indices};
  assert_int_equal(layout_make(&t, task_workload(&t, "small"), &l, &err), ASSAY_OK);
  assert_int_equal(question_answer(&t, &q, 8, 2, &err), ASSAY_OK);
  assert_int_equal(task_make_inputs(&t, l.workload, PROBE_DECLARED, 17, 2, inputs, &err), ASSAY_OK);
  negative(x, y);
  for (int refused = 0; refused < 2; refused++) {
    struct assay_check checks[5] = {{.reason = ASSAY_REASON_PASS}};
    assert_int_equal(l.n_judged, 5);
    indices[1] = refused ? ROWS : 4;
    assert_int_equal(question_check(&t, &q, outputs, POISON_NAN, &o, checks, &err), ASSAY_OK);
    for (int i = 0; i < l.n_judged; i++) {
      assert_int_equal(checks[i].reason == ASSAY_REASON_PASS, !refused);
      base_free(checks[i].description);
    }
  }
  question_release(&q);
  layout_release(&l);
  task_release(&t);
}

// The same answers, all at once and one after another; and what nobody survives is not asked then, either.
static void test_late_answers(void **state) {
  (void)state;
  enum { N = 3, REPLICAS = 8 };
  struct task t = task_of("(float[M, N] x) => (float[M, N] y)", "y = Softmax(x)", "fp32");
  struct question at_once[N], late[N];
  struct layout l = {0};
  struct assay_error err = {0};
  if (layout_make(&t, &t.workloads[0], &l, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  l.oracle.answer = (int64_t)300 << 20; // one can be held
  for (int i = 0; i < N; i++)
    at_once[i] = late[i] = (struct question){.layout = &l, .probe = i ? PROBE_ROW_SCALES : PROBE_DECLARED, .key = 7};
  assert_int_equal(questions_answer(&t, at_once, N, REPLICAS, 2, &err), ASSAY_OK);
  questions_postpone(late, N);
  assert_int_equal(questions_answer(&t, late, N, REPLICAS, 2, &err), ASSAY_OK);
  for (int i = 0; i < N; i++) {
    assert_int_equal(late[i].late, i > 0);
    assert_int_equal(late[i].answer.y == NULL, i > 0);
    assert_true(question_is_asked(&late[i]));
    assert_int_equal(question_answer_late(&t, &late[i], REPLICAS, 2, &err), ASSAY_OK);
    assert_false(late[i].late);
    assert_memory_equal(late[i].answer.y[0].f64, at_once[i].answer.y[0].f64, COUNT * sizeof(double));
    assert_memory_equal(late[i].answer.sigma[0], at_once[i].answer.sigma[0], COUNT * sizeof(float));
    question_release(&late[i]);
    question_release(&at_once[i]);
  }
  struct question impossible = {.layout = &l, .probe = PROBE_ROW_SCALES, .late = true};
  assert_true(question_is_asked(&impossible)); // as far as is known
  impossible.late = false;
  assert_false(question_is_asked(&impossible));
  layout_release(&l);
  task_release(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_memory_needed),
      cmocka_unit_test(test_memory_of_a_check),
      cmocka_unit_test(test_refused_by_the_check),
      cmocka_unit_test(test_late_answers),
      cmocka_unit_test(test_sums_may_be_flushed),
      cmocka_unit_test(test_sums_may_not_be_left_out),
      cmocka_unit_test(test_nothing_else_may_be_flushed),
      cmocka_unit_test(test_which_outputs_add),
      cmocka_unit_test(test_half_precision),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
