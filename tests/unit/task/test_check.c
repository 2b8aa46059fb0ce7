// SPDX-License-Identifier: Apache-2.0
// Checks of answers that are not unique: what a file may say, what is judged, and outputs of any kind.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "oracle/oracle.h"
#include "task/check.h"
#include "task/lint.h"

#define QR "(float[M, N] A) => (float[M, N] Q, float[N, N] R) { Q, R = ai.assay.QR(A) }"
#define SIZES "M=9, N=5"
#define PRODUCT "product = MatMul(Q, R) turned = Transpose<perm = [1, 0]>(Q) square = MatMul(turned, Q) "

static enum assay_status parse(const char *contract, const char *sizes, const char *name, const char *graph,
                               const char *function, struct task *t, struct assay_error *err) {
  char text[4096];
  snprintf(text, sizeof text,
           "<ir_version: 10, opset_import: [\"\" : 23, \"ai.assay\" : 1, \"local\" : 1], metadata_props: ["
           "\"assay.task\" : \"t\", \"assay.contract\" : \"%s\", \"assay.workload.small\" : \"%s\", "
           "\"assay.workload.full\" : \"%s\", \"assay.input.A\" : \"normal(0, 1)\", \"assay.check\" : \"%s\"]>\n"
           "g %s\n<domain: \"local\", opset_import: [\"\" : 23, \"ai.assay\" : 1]>\n%s\n",
           contract, sizes, sizes, name, graph, function);
  return task_parse(text, strlen(text), "t.onnxtxt", false, t, err);
}

static void test_mistakes(void **state) {
  (void)state;
  static const struct {
    const char *contract, *name, *graph, *function, *message;
  } rows[] = {
      {"fp32", "none", QR, "f (Q, R) => (y) { y = MatMul(Q, R) }", "no function 'none'"},
      {"fp32", "f", QR, "f (Q, S) => (y) { y = MatMul(Q, S) }", "'S' is no input or output"},
      {"fp32", "f", QR, "f (Q) => (y) { y = Identity(Q) }", "does not judge the output 'R'"},
      {"fp32", "f", QR, "f (Q, R) => (A) { A = MatMul(Q, R) }", "another value 'A'"},
      {"fp32", "f", QR, "f (Q, R) => (y, y) { y = MatMul(Q, R) }", "another value 'y'"},
      {"bf16", "f", "(bfloat16[M, N] A) => (bfloat16[M, N] Q) { Q = Neg(A) }", "f (Q) => (y) { y = Neg(Q) }",
       "fp32 and tf32"},
      {"fp32", "f", "(float[M, N] A) => (float[M, N] A) { Q = Neg(A) }", "f (A) => (y) { y = Neg(A) }",
       "result of a node"},
      {"fp32", "f", "(float[M, N] A) => (Q) { Q = Neg(A) }", "f (Q) => (y) { y = Neg(Q) }", "declare its type"},
      {"fp32", "f", QR, "f (Q, R) => (y) { y = Unheard(Q, R) }", "Unheard"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct task t = {0};
    struct assay_error err = {0};
    if (parse(rows[i].contract, SIZES, rows[i].name, rows[i].graph, rows[i].function, &t, &err) == ASSAY_OK)
      fail_msg("row %zu was read", i);
    if (!strstr(err.message, rows[i].message) || !strstr(err.message, "t.onnxtxt"))
      fail_msg("row %zu: %s", i, err.message);
  }
}

// Without a check: what depends on an answer that is not unique is refused, what does not is read.
static void test_without(void **state) {
  (void)state;
  static const struct {
    const char *graph, *refused; // part of the message; NULL: read
  } rows[] = {
      {QR, "output 'Q' depends on QR"},
      {"(float[M, N] A) => (float[M, N] s, float[N, N] a) { Q, R = ai.assay.QR(A) a = Abs(R) s = Neg(A) }",
       "output 'a' depends on QR"},
      {"(float[M, N] A) => (float[M, N] y) { y = local.product(A) }", "output 'y' depends on QR"},
      {"(float[M, N] A) => (float[M, M] U) { U, S, V = ai.assay.SVD(A) }", "output 'U' depends on SVD"},
      {"(float[M, N] A) => (float[N] S) { U, S, V = ai.assay.SVD(A) }", NULL},
      {"(float[M, M] A) => (float[M, 2] w) { w = ai.assay.Eig(A) }", "output 'w' depends on Eig"},
      {"(float[M, M] A) => (int64[M, M] q) { l, p = ai.assay.LDL(A) ll = MatMul(l, l) q = Cast<to = 7>(ll) }",
       "output 'q' depends on LDL"},
      {"(float[M, N] A) => (float[2, N] y) { s = Constant<value_ints = [3, 4]>() y = ai.assay.SeededUniform(s, A) }",
       "output 'y' depends on SeededUniform"},
      {"(float[M, N] A) => (float[2, N] y) { s = Constant<value_ints = [3, 4]>() a = Abs(A) "
       "n = ReduceMax<keepdims = 0>(a, s) k = Cast<to = 7>(n) y = ai.assay.SeededBinomial(s, k, n) }",
       "output 'y' depends on SeededBinomial"},
      {"(float[M, N] A) => (int64[2] y, float[M, N] z) { s = Constant<value_ints = [3, 4]>() "
       "u = ai.assay.SeededUniform(s, A) y = Shape(u) z = Neg(A) }",
       NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[4096];
    snprintf(text, sizeof text,
             "<ir_version: 10, opset_import: [\"\" : 23, \"ai.assay\" : 1, \"local\" : 1], metadata_props: ["
             "\"assay.task\" : \"t\", \"assay.contract\" : \"fp32\", \"assay.workload.small\" : \"%s\", "
             "\"assay.workload.full\" : \"%s\", \"assay.input.A\" : \"normal(0, 1)\"]>\n"
             "g %s\n<domain: \"local\", opset_import: [\"\" : 23, \"ai.assay\" : 1]>\n"
             "product (A) => (y) { Q, R = ai.assay.QR(A) y = MatMul(Q, R) }\n",
             strstr(rows[i].graph, "N") ? SIZES : "M=9", strstr(rows[i].graph, "N") ? SIZES : "M=9", rows[i].graph);
    struct task t = {0};
    struct assay_error err = {0};
    enum assay_status status = task_parse(text, strlen(text), "t.onnxtxt", false, &t, &err);
    if ((status == ASSAY_OK) != (rows[i].refused == NULL))
      fail_msg("row %zu: %s", i, status ? err.message : "was read");
    if (status && (!strstr(err.message, rows[i].refused) || !strstr(err.message, "assay.check") ||
                   !strstr(err.message, "t.onnxtxt")))
      fail_msg("row %zu: %s", i, err.message);
    task_release(&t);
  }
}

struct answered {
  struct task task;
  struct array inputs[2], outputs[3];
  struct oracle_answer answer;
};

static void answer(struct answered *a) {
  struct assay_error err = {0};
  struct arith contract = a->task.contract.arith;
  contract.key = 3;
  if (task_draw_inputs(&a->task, task_workload(&a->task, "small"), PROBE_DECLARED, 5, 1, a->inputs, &err) ||
      oracle_answer_make(task_oracle_graph(&a->task), a->inputs, &contract, 16, 1, &a->answer, &err) ||
      oracle_eval(
          &(struct oracle_request){
              .graph = &a->task.model.flat, .inputs = a->inputs, .arith = arith_exact(), .threads = 1},
          a->outputs, &err))
    fail_msg("%s", err.message);
}

static void release(struct answered *a) {
  for (int i = 0; i < a->task.n_inputs; i++)
    array_release(&a->inputs[i]);
  for (int i = 0; i < a->task.n_outputs; i++)
    array_release(&a->outputs[i]);
  oracle_answer_release(&a->answer);
  task_release(&a->task);
}

// The largest error of a judged value in units of its scale.
static double worst(const struct answered *a, int value) {
  struct array judged[4] = {{0}};
  struct assay_error err = {0};
  double most = 0;
  assert_int_equal(check_eval(&a->task, a->inputs, a->outputs, 1, judged, &err), ASSAY_OK);
  for (int64_t i = 0; i < shape_count(&judged[value].shape); i++) {
    double off = fabs(judged[value].f64[i] - a->answer.y[value].f64[i]);
    most =
        off > 1e-13 || isnan(off) ? fmax(most, isnan(off) ? INFINITY : off / (double)a->answer.sigma[value][i]) : most;
  }
  for (int i = 0; i < a->answer.n_outputs; i++)
    array_release(&judged[i]);
  return most;
}

// Other signs are as right; the same changes on one side alone are not. The scale is that of single precision.
static void test_signs(void **state) {
  (void)state;
  struct answered a = {0};
  struct assay_error err = {0};
  if (parse("fp32", SIZES, "f", QR, "f (Q, R) => (product, square) { " PRODUCT "}", &a.task, &err))
    fail_msg("%s", err.message);
  answer(&a);
  assert_int_equal(a.answer.n_outputs, 2);
  assert_int_equal(a.answer.y[0].shape.dims[0], 9);
  for (int64_t i = 0; i < 45; i++)
    assert_true(a.answer.sigma[0][i] > 1e-8 && a.answer.sigma[0][i] < 1e-5);
  for (int i = 0; i < 9; i++)
    a.outputs[0].f64[i * 5 + 2] *= -1;
  assert_true(worst(&a, 0) > 1e4 && worst(&a, 1) == 0);
  for (int j = 0; j < 5; j++)
    a.outputs[1].f64[2 * 5 + j] *= -1;
  assert_true(worst(&a, 0) == 0 && worst(&a, 1) == 0);
  a.outputs[0].f64[7] += 1e-3;
  assert_true(worst(&a, 0) > 50 && worst(&a, 1) > 50);
  a.outputs[0].f64[7] = NAN;
  assert_true(isinf(worst(&a, 0)));
  release(&a);
}

// Pivots of a candidate may be any numbers.
static void test_pivots(void **state) {
  (void)state;
  static const int64_t bad[] = {0, -1, 10, -10, INT32_MAX, INT32_MIN, INT64_MIN};
  struct answered a = {0};
  struct assay_error err = {0};
  const char *graph = "(float[M, M] A) => (float[M, M] L, int32[M] p) { t = Transpose<perm = [1, 0]>(A) s = Add(A, t) "
                      "L, p = ai.assay.LDL(s) }";
  if (parse("fp32", "M=9", "f", graph, "f (L, p) => (product) { product = ai.assay.LDLProduct(L, p) }", &a.task, &err))
    fail_msg("%s", err.message);
  answer(&a);
  assert_true(worst(&a, 0) == 0);
  for (int at = 0; at < 9; at += 4)
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
      const int64_t kept = a.outputs[1].i64[at];
      a.outputs[1].i64[at] = bad[i];
      if (bad[i] != kept && worst(&a, 0) < 1)
        fail_msg("pivot %d: %lld", at, (long long)bad[i]);
      a.outputs[1].i64[at] = kept;
    }
  release(&a);
}

// A check that looks at the product alone leaves R free to be anything that Q makes up for; that is for the author to
// see. What the linter finds is an output that does not count.
static void test_lint(void **state) {
  (void)state;
  static const struct {
    const char *function;
    bool open;
  } rows[] = {{"f (Q, R) => (product, square) { " PRODUCT "}", false},
              {"f (Q, R) => (square) { turned = Transpose<perm = [1, 0]>(Q) square = MatMul(turned, Q) }", true}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    static struct lint_report report;
    struct task t;
    struct assay_error err = {0};
    if (parse("fp32", SIZES, "f", QR, rows[i].function, &t, &err) || lint_task(&t, NULL, 7, 1, &report, &err))
      fail_msg("%s", err.message);
    int zeros = 0;
    for (int k = 0; k < report.n_findings; k++)
      zeros += report.findings[k].code == LINT_ZEROS && report.findings[k].output == 1;
    assert_int_equal(zeros > 0, rows[i].open);
    task_release(&t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_mistakes), cmocka_unit_test(test_without),
                                     cmocka_unit_test(test_signs), cmocka_unit_test(test_pivots),
                                     cmocka_unit_test(test_lint)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
