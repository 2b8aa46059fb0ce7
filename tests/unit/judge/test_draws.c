// SPDX-License-Identifier: Apache-2.0
// Numbers of chance from call to call, where the subject checks its outputs on the device: all that a session knows of
// them are the hashes of their rows.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "judge/session.h"

enum { ROWS = 3, COLUMNS = 257 };

// A subject that finds every call right by itself.
struct candidate {
  struct subject base;
  float y[ROWS * COLUMNS];
  bool skips;
};

static enum assay_status check(struct subject *s, const struct question *q, uint32_t poison, struct assay_check *checks,
                               struct assay_error *err) {
  struct candidate *c = (struct candidate *)s;
  const void *outputs[] = {c->y};
  (void)poison;
  (void)err;
  checks[0].skipped = c->skips;
  assert_non_null(q->rows);
  draws_hash(q->layout, outputs, q->rows);
  return ASSAY_OK;
}

static const struct subject_ops ops = {.mode = "plan", .check = check};

static void draw(struct candidate *c, uint64_t key) {
  for (int i = 0; i < ROWS * COLUMNS; i++)
    c->y[i] = (float)rng_unit(rng_mix64(key * 1000000 + (uint64_t)i));
}

// "": it passed.
static const char *ask(struct session *s, uint64_t key) {
  struct assay_error err = {0};
  struct question q = {.layout = &s->layouts[0], .probe = PROBE_DECLARED, .key = key, .in_place = true};
  enum assay_reason reason;
  const int n = s->v->n_checks;
  if (session_check_now(s, &q, POISON_NAN, false, &reason, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  assert_null(q.rows);
  if (s->v->n_checks == n)
    return "skipped";
  const struct assay_check *c = &s->v->checks[n];
  assert_int_equal(reason, c->reason);
  assert_int_equal(c->reason == ASSAY_REASON_PASS, c->hint[0] == 0);
  assert_int_equal(c->description == NULL, c->hint[0] == 0);
  return c->hint;
}

static void begin(struct session *s, struct assay_verdict *v, struct candidate *c, const char *name) {
  static const struct assay_judge_options o = {.threads = 1};
  struct assay_error err = {0};
  char *path;
  memset(s, 0, sizeof *s);
  memset(v, 0, sizeof *v);
  s->o = &o;
  s->v = v;
  s->subject = &c->base;
  c->base.ops = &ops;
  if (task_find(ASSAY_SOURCE_DIR "/tasks", name, &path, &err) || task_read(path, false, &s->task, &err) ||
      layout_make(&s->task, task_workload(&s->task, "ragged2"), &s->layouts[0], &err))
    fail_msg("%s", err.message);
  base_free(path);
}

static void end(struct session *s) {
  for (int i = 0; i < s->v->n_checks; i++)
    base_free(s->v->checks[i].description);
  base_free(s->v->checks);
  draws_release(&s->draws);
  layout_release(&s->layouts[0]);
  task_release(&s->task);
}

static void check_calls(const char *name) {
  struct session s;
  struct assay_verdict v;
  struct candidate c = {.skips = false};
  begin(&s, &v, &c, name);
  assert_int_equal(draws_rows(&s.layouts[0]), ROWS);
  draw(&c, 1);
  assert_string_equal(ask(&s, 1), "");
  draw(&c, 2);
  assert_string_equal(ask(&s, 2), "");
  draw(&c, 1);
  assert_string_equal(ask(&s, 1), ""); // the same once more
  c.y[ROWS * COLUMNS - 1] = 0.5f;
  assert_string_equal(ask(&s, 1), "the same seeds gave other numbers in another call");
  draw(&c, 2);
  assert_string_equal(ask(&s, 3), "other seeds gave the same numbers in another call");
  c.skips = true;
  draw(&c, 4);
  assert_string_equal(ask(&s, 4), "skipped"); // and nothing is noted of it
  c.skips = false;
  assert_string_equal(ask(&s, 5), "");
  end(&s);
}

static void test_calls(void **state) {
  (void)state;
  check_calls("kernelbenchx/Random/rand");
  check_calls("kernelbenchx/Math/bitwise_and_binomial"); // whose trials, of int32, are not noted
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_calls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
