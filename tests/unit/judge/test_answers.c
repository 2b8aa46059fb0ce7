// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=oracle_answer_make -Wl,--wrap=base_alloc
// Answers that are kept: what is asked again is not computed again, and nothing else is taken for it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "judge/question.h"

static int computed;   // answers that the oracle made
static bool no_memory; // for what base_alloc is asked

enum assay_status __real_oracle_answer_make(const struct graph *g, const struct array *inputs,
                                            const struct arith *contract, int replicas, int threads,
                                            struct oracle_answer *out, struct assay_error *err);
enum assay_status __wrap_oracle_answer_make(const struct graph *g, const struct array *inputs,
                                            const struct arith *contract, int replicas, int threads,
                                            struct oracle_answer *out, struct assay_error *err);
enum assay_status __wrap_oracle_answer_make(const struct graph *g, const struct array *inputs,
                                            const struct arith *contract, int replicas, int threads,
                                            struct oracle_answer *out, struct assay_error *err) {
  computed++;
  return __real_oracle_answer_make(g, inputs, contract, replicas, threads, out, err);
}

void *__real_base_alloc(size_t n);
void *__wrap_base_alloc(size_t n);
void *__wrap_base_alloc(size_t n) {
  return no_memory ? NULL : __real_base_alloc(n);
}

// One output of floats, with an error scale, and one of integers, without.
static struct task task_of(const char *body) {
  char text[2048];
  struct task t = {0};
  struct assay_error err = {0};
  int n = snprintf(text, sizeof text,
                   "<ir_version: 10, opset_import: [\"\" : 23], metadata_props: [\"assay.task\" : \"test/kept\","
                   " \"assay.contract\" : \"fp32\", \"assay.workload.small\" : \"M=3, N=5\","
                   " \"assay.workload.full\" : \"M=5, N=3\", \"assay.input.x\" : \"normal(0, 1)\"]>\n"
                   "kept (float[M, N] x) => (float[M, N] y, int64[2] s) { %s }\n",
                   body);
  if (task_parse(text, (size_t)n, "kept.onnxtxt", false, &t, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  return t;
}

struct place {
  struct task task, other;
  struct layout small, full, other_small;
  struct assay_answers *kept;
};

static struct place open_place(size_t bytes) {
  struct assay_error err = {0};
  struct place p = {.task = task_of("y = Exp(x) s = Shape(x)"), .other = task_of("y = Neg(x) s = Shape(x)")};
  assert_int_equal(layout_make(&p.task, task_workload(&p.task, "small"), &p.small, &err), ASSAY_OK);
  assert_int_equal(layout_make(&p.task, task_workload(&p.task, "full"), &p.full, &err), ASSAY_OK);
  assert_int_equal(layout_make(&p.other, task_workload(&p.other, "small"), &p.other_small, &err), ASSAY_OK);
  assert_int_equal(assay_answers_open(bytes, &p.kept, &err), ASSAY_OK);
  computed = 0;
  return p;
}

static void close_place(struct place *p) {
  assay_answers_close(p->kept);
  layout_release(&p->small);
  layout_release(&p->full);
  layout_release(&p->other_small);
  task_release(&p->task);
  task_release(&p->other);
}

static struct question ask(const struct task *t, const struct layout *l, enum probe probe, uint64_t key, int replicas,
                           struct assay_answers *kept) {
  struct assay_error err = {0};
  struct question q = {.layout = l, .probe = probe, .key = key, .kept = kept};
  assert_int_equal(question_answer(t, &q, replicas, 1, &err), ASSAY_OK);
  return q;
}

static void drop(struct question q) {
  question_release(&q);
}

static void asked_again(void **state) {
  (void)state;
  struct place p = open_place(1 << 20);
  struct question first = ask(&p.task, &p.small, PROBE_DECLARED, 7, 8, p.kept);
  struct question again = ask(&p.task, &p.small, PROBE_DECLARED, 7, 8, p.kept);
  struct question anew = ask(&p.task, &p.small, PROBE_DECLARED, 7, 8, NULL);
  assert_int_equal(computed, 2);
  assert_int_equal(again.answer.n_outputs, 2);
  assert_true(again.answer.representable == anew.answer.representable);
  assert_memory_equal(again.answer.y[0].f64, anew.answer.y[0].f64, 15 * sizeof(double));
  assert_memory_equal(again.answer.sigma[0], anew.answer.sigma[0], 15 * sizeof(float));
  assert_memory_equal(again.answer.y[1].i64, anew.answer.y[1].i64, 2 * sizeof(int64_t));
  assert_null(again.answer.sigma[1]);
  assert_true(again.answer.y[0].f64 != first.answer.y[0].f64); // each has its own
  drop(first);
  drop(again);
  drop(anew);
  close_place(&p);
}

// Whatever else an answer depends on makes it another one.
static void another_question(void **state) {
  (void)state;
  struct place p = open_place(1 << 20);
  drop(ask(&p.task, &p.small, PROBE_DECLARED, 7, 8, p.kept));
  drop(ask(&p.task, &p.small, PROBE_DECLARED, 8, 8, p.kept));
  drop(ask(&p.task, &p.small, PROBE_ZERO_MEAN, 7, 8, p.kept));
  drop(ask(&p.task, &p.small, PROBE_DECLARED, 7, 16, p.kept));
  drop(ask(&p.task, &p.full, PROBE_DECLARED, 7, 8, p.kept)); // of as many elements
  drop(ask(&p.other, &p.other_small, PROBE_DECLARED, 7, 8, p.kept));
  p.task.as_published = true;
  drop(ask(&p.task, &p.small, PROBE_DECLARED, 7, 8, p.kept));
  assert_int_equal(computed, 7);
  struct assay_error err = {0};
  struct question second_look = {.layout = &p.small, .probe = PROBE_DECLARED, .key = 7, .kept = p.kept, .again = true};
  assert_int_equal(question_answer(&p.task, &second_look, 8, 1, &err), ASSAY_OK);
  assert_int_equal(computed, 8);
  drop(second_look);
  close_place(&p);
}

// The oldest go when there is no room; what is larger than all the room is not kept.
static void room_for_two(void **state) {
  (void)state;
  const size_t each = 15 * (sizeof(double) + sizeof(float)) + 2 * sizeof(int64_t);
  struct place p = open_place(2 * each);
  for (uint64_t key = 1; key <= 3; key++)
    drop(ask(&p.task, &p.small, PROBE_DECLARED, key, 8, p.kept));
  drop(ask(&p.task, &p.small, PROBE_DECLARED, 2, 8, p.kept));
  drop(ask(&p.task, &p.small, PROBE_DECLARED, 3, 8, p.kept));
  assert_int_equal(computed, 3);
  drop(ask(&p.task, &p.small, PROBE_DECLARED, 1, 8, p.kept));
  assert_int_equal(computed, 4);
  close_place(&p);
  p = open_place(each - 1);
  drop(ask(&p.task, &p.small, PROBE_DECLARED, 1, 8, p.kept));
  drop(ask(&p.task, &p.small, PROBE_DECLARED, 1, 8, p.kept));
  assert_int_equal(computed, 2);
  close_place(&p);
}

// An answer that cannot be copied is computed.
static void no_room_for_a_copy(void **state) {
  (void)state;
  struct place p = open_place(1 << 20);
  struct assay_error err = {0};
  drop(ask(&p.task, &p.small, PROBE_DECLARED, 7, 8, p.kept));
  struct question q = {.layout = &p.small, .probe = PROBE_DECLARED, .key = 7, .kept = p.kept};
  no_memory = true;
  assert_int_equal(question_answer(&p.task, &q, 8, 1, &err), ASSAY_ERR_NOMEM);
  no_memory = false;
  drop(ask(&p.task, &p.small, PROBE_DECLARED, 7, 8, p.kept));
  assert_int_equal(computed, 1);
  close_place(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(asked_again),
      cmocka_unit_test(another_question),
      cmocka_unit_test(room_for_two),
      cmocka_unit_test(no_room_for_a_copy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
