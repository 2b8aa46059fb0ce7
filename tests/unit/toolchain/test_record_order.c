// SPDX-License-Identifier: Apache-2.0
// modules: toolchain/record
// Which recorded work is ordered before which: streams, events, host waits and the default stream, as CUDA has them.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "toolchain/record/order.h"

enum { DEFAULT = RECORD_DEFAULT_STREAM, ENTRY = RECORD_ENTRY_STREAM, SIDE = 2, FREE = 3 };

struct fixture {
  struct arena arena;
  struct record_order *order;
};

// In addition to the two streams that are always there, a blocking one and one that is not.
static void setup(struct fixture *f) {
  *f = (struct fixture){0};
  f->order = base_calloc(1, sizeof *f->order);
  assert_non_null(f->order);
  order_init(f->order, &f->arena);
  assert_true(order_add_stream(f->order, SIDE, false));
  assert_true(order_add_stream(f->order, FREE, true));
}

static void teardown(struct fixture *f) {
  arena_release(&f->arena);
  base_free(f->order);
}

static struct record_stamp work(struct fixture *f, uint32_t stream) {
  struct record_stamp s;
  assert_true(order_work(f->order, stream, &s));
  return s;
}

static void test_one_stream(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  struct record_stamp a = work(&f, ENTRY), b = work(&f, ENTRY);
  assert_true(order_before(f.order, a, b));
  order_end(f.order);
  assert_true(order_ended(f.order, a));
  assert_true(order_ended(f.order, b));
  teardown(&f);
}

static void test_fork_and_join(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  struct record_stamp first = work(&f, ENTRY);
  assert_true(order_record(f.order, 0, ENTRY));
  struct record_stamp later = work(&f, ENTRY);
  assert_true(order_wait(f.order, FREE, 0));
  struct record_stamp side = work(&f, FREE);
  assert_true(order_before(f.order, first, side));
  assert_false(order_before(f.order, later, side)); // after the event
  order_end(f.order);
  assert_false(order_ended(f.order, side));
  assert_true(order_record(f.order, 1, FREE));
  struct record_stamp behind = work(&f, FREE);
  assert_true(order_wait(f.order, ENTRY, 1));
  struct record_stamp joined = work(&f, ENTRY);
  assert_true(order_before(f.order, side, joined));
  order_end(f.order);
  assert_true(order_ended(f.order, side));
  assert_false(order_ended(f.order, behind));
  teardown(&f);
}

// Orders pass on: a before an event, the event before b, b before another event, that before c.
static void test_transitive(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  struct record_stamp a = work(&f, FREE);
  assert_true(order_record(f.order, 0, FREE) && order_wait(f.order, SIDE, 0));
  struct record_stamp b = work(&f, SIDE);
  assert_true(order_record(f.order, 1, SIDE) && order_wait(f.order, ENTRY, 1));
  struct record_stamp c = work(&f, ENTRY);
  assert_true(order_before(f.order, a, b));
  assert_true(order_before(f.order, a, c));
  teardown(&f);
}

// A wait means the event as it was recorded last before the wait, not as it is recorded later.
static void test_event_recorded_again(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  struct record_stamp a = work(&f, FREE);
  assert_true(order_record(f.order, 0, FREE) && order_wait(f.order, ENTRY, 0));
  struct record_stamp b = work(&f, FREE);
  assert_true(order_record(f.order, 0, FREE));
  struct record_stamp c = work(&f, ENTRY);
  assert_true(order_before(f.order, a, c));
  assert_false(order_before(f.order, b, c));
  assert_true(order_wait(f.order, ENTRY, 0));
  assert_true(order_before(f.order, b, work(&f, ENTRY)));
  assert_true(order_wait(f.order, SIDE, 7)); // never recorded
  teardown(&f);
}

static void test_default_stream(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  struct record_stamp side = work(&f, SIDE), loose = work(&f, FREE);
  struct record_stamp legacy = work(&f, DEFAULT);
  assert_true(order_before(f.order, side, legacy));
  assert_false(order_before(f.order, loose, legacy));
  struct record_stamp after = work(&f, SIDE), loose_after = work(&f, FREE);
  assert_true(order_before(f.order, legacy, after));
  assert_false(order_before(f.order, legacy, loose_after));
  // The entry's stream is a blocking one: whatever comes next in it waits for the default stream.
  order_end(f.order);
  assert_true(order_ended(f.order, side));
  assert_true(order_ended(f.order, legacy));
  assert_false(order_ended(f.order, after));
  assert_false(order_ended(f.order, loose));
  teardown(&f);
}

static void test_host_waits(void **state) {
  (void)state;
  static const struct record_host_wait waits[] = {
      {RECORD_AWAIT_DEVICE, 0}, {RECORD_AWAIT_STREAM, FREE}, {RECORD_AWAIT_EVENT, 3}};
  for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
    struct fixture f;
    setup(&f);
    struct record_stamp loose = work(&f, FREE), side = work(&f, SIDE);
    assert_true(order_record(f.order, 3, FREE));
    assert_true(order_host_wait(f.order, waits[i].what, waits[i].id));
    struct record_stamp next = work(&f, ENTRY);
    assert_true(order_before(f.order, loose, next));
    assert_int_equal(order_before(f.order, side, next), waits[i].what == RECORD_AWAIT_DEVICE);
    teardown(&f);
  }
}

static void test_impossible(void **state) {
  (void)state;
  struct fixture f;
  struct record_stamp s;
  setup(&f);
  assert_false(order_work(f.order, 4, &s));
  assert_false(order_work(f.order, RECORD_NO_STREAM, &s));
  assert_false(order_record(f.order, 0, 4));
  assert_false(order_record(f.order, RECORD_MAX_EVENTS, ENTRY));
  assert_false(order_wait(f.order, 4, 0));
  assert_false(order_wait(f.order, ENTRY, RECORD_MAX_EVENTS));
  assert_false(order_host_wait(f.order, 3, 0));
  assert_false(order_host_wait(f.order, RECORD_AWAIT_STREAM, 4));
  assert_false(order_host_wait(f.order, RECORD_AWAIT_EVENT, RECORD_MAX_EVENTS));
  assert_false(order_add_stream(f.order, 9, false));
  for (uint32_t i = 4; i < RECORD_MAX_STREAMS; i++)
    assert_true(order_add_stream(f.order, i, false));
  assert_false(order_add_stream(f.order, RECORD_MAX_STREAMS, false));
  teardown(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_stream),     cmocka_unit_test(test_fork_and_join),
      cmocka_unit_test(test_transitive),     cmocka_unit_test(test_event_recorded_again),
      cmocka_unit_test(test_default_stream), cmocka_unit_test(test_host_waits),
      cmocka_unit_test(test_impossible),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
