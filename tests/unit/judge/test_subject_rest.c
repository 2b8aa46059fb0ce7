// SPDX-License-Identifier: Apache-2.0
// A subject that rests while the host works: which turn it gives back, and which one it has again.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "judge/subject.h"
#include "judge/workbench.h"

static bool others_have_it; // so that no turn comes
static enum turn_kind asked_for;

// In place of workbench.c's.
int64_t workbench_turn(struct assay_workbench *w, enum turn_kind kind) {
  (void)w;
  asked_for = kind;
  return 7;
}

static bool is_wanted; // somebody waits to be alone

bool workbench_turn_is_wanted(const struct assay_workbench *w) {
  (void)w;
  return is_wanted;
}

bool workbench_turn_missed(const struct assay_workbench *w) {
  (void)w;
  return others_have_it && asked_for != TURN_NONE;
}

struct candidate {
  struct subject base;
  bool at_work;
  int asked;
};

static bool is_idle(struct subject *s) {
  struct candidate *c = (struct candidate *)s;
  c->asked++;
  return !c->at_work;
}

static const struct subject_ops without = {.mode = "plan"}, with = {.mode = "process", .idle = is_idle};

static struct candidate begin(const struct subject_ops *ops, enum turn_kind kind) {
  struct candidate c = {.at_work = false};
  const struct subject_env env = {.secret = 1};
  subject_init(&c.base, ops, &env);
  subject_turn(&c.base, kind);
  return c;
}

static void test_gives_back_and_takes_again(void **state) {
  (void)state;
  for (int kind = TURN_NONE; kind <= TURN_ALONE; kind++) {
    struct candidate c = begin(&without, (enum turn_kind)kind);
    subject_rest(&c.base);
    assert_int_equal(c.base.turn, TURN_NONE);
    subject_resume(&c.base);
    assert_int_equal(c.base.turn, kind);
  }
}

// The inner pair changes nothing: the outer one's work goes on.
static void test_pairs_within_one_another(void **state) {
  (void)state;
  struct candidate c = begin(&without, TURN_ALONE);
  subject_rest(&c.base);
  subject_rest(&c.base);
  subject_resume(&c.base);
  assert_int_equal(c.base.turn, TURN_NONE);
  subject_resume(&c.base);
  assert_int_equal(c.base.turn, TURN_ALONE);
}

// Others would find its work in their times.
static void test_a_candidate_at_work_keeps_its_turn(void **state) {
  (void)state;
  struct candidate c = begin(&with, TURN_ALONE);
  c.at_work = true;
  subject_rest(&c.base);
  assert_int_equal(c.base.turn, TURN_ALONE);
  subject_resume(&c.base);
  assert_int_equal(c.base.turn, TURN_ALONE);
  c.at_work = false;
  subject_rest(&c.base);
  assert_int_equal(c.base.turn, TURN_NONE);
  subject_resume(&c.base);
  assert_int_equal(c.base.turn, TURN_ALONE);
  assert_int_equal(c.asked, 2);
}

// The verification after all may be another thread's, while the device is the next candidate's.
static void test_without_a_turn_nothing_is_asked(void **state) {
  (void)state;
  struct candidate c = begin(&with, TURN_ALONE);
  subject_turn(&c.base, TURN_NONE);
  subject_rest(&c.base);
  subject_resume(&c.base);
  assert_int_equal(c.base.turn, TURN_NONE);
  assert_int_equal(c.asked, 0);
}

// Then nothing may be timed, nor the work of others taken for the candidate's, though a later turn comes.
static void test_a_turn_alone_that_does_not_come_ends_it(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct candidate c = begin(&without, TURN_ALONE);
  assert_int_equal(subject_has_turn(&c.base, &err), ASSAY_OK);
  subject_rest(&c.base);
  others_have_it = true;
  subject_resume(&c.base);
  assert_int_equal(subject_has_turn(&c.base, &err), ASSAY_ERR_ENVIRONMENT);
  assert_non_null(strstr(err.message, "other judges had the GPU for ten minutes"));
  assert_non_null(strstr(err.message, "judge again"));
  others_have_it = false;
  subject_turn(&c.base, TURN_NONE);
  subject_turn(&c.base, TURN_ALONE);
  assert_int_equal(subject_has_turn(&c.base, &err), ASSAY_ERR_ENVIRONMENT);
}

static void test_a_turn_together_is_done_without(void **state) {
  (void)state;
  struct candidate c = begin(&without, TURN_TOGETHER);
  others_have_it = true;
  subject_rest(&c.base);
  subject_resume(&c.base);
  others_have_it = false;
  assert_int_equal(subject_has_turn(&c.base, NULL), ASSAY_OK);
  assert_int_equal(c.base.found.open_ns, 3 * 7); // each waited
}

// Between two questions, only for who waits, and only what others may have: what is timed is not interrupted.
static void test_gives_way_to_who_waits(void **state) {
  (void)state;
  for (int kind = TURN_NONE; kind <= TURN_ALONE; kind++)
    for (int wanted = 0; wanted < 2; wanted++) {
      struct candidate c = begin(&without, (enum turn_kind)kind);
      const int64_t waited_ns = c.base.found.open_ns;
      is_wanted = wanted;
      subject_give_way(&c.base);
      assert_int_equal(c.base.turn, kind);
      assert_int_equal(c.base.found.open_ns - waited_ns, wanted && kind == TURN_TOGETHER ? 2 * 7 : 0);
      assert_int_equal(asked_for, kind);
    }
  is_wanted = false;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gives_back_and_takes_again),
      cmocka_unit_test(test_pairs_within_one_another),
      cmocka_unit_test(test_a_candidate_at_work_keeps_its_turn),
      cmocka_unit_test(test_without_a_turn_nothing_is_asked),
      cmocka_unit_test(test_a_turn_alone_that_does_not_come_ends_it),
      cmocka_unit_test(test_a_turn_together_is_done_without),
      cmocka_unit_test(test_gives_way_to_who_waits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
