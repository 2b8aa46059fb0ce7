// SPDX-License-Identifier: Apache-2.0
// A subject that rests while the host works: which turn it gives back, and which one it has again.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "judge/subject.h"

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gives_back_and_takes_again),
      cmocka_unit_test(test_pairs_within_one_another),
      cmocka_unit_test(test_a_candidate_at_work_keeps_its_turn),
      cmocka_unit_test(test_without_a_turn_nothing_is_asked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
