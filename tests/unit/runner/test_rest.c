// SPDX-License-Identifier: Apache-2.0
// When the threads that a kernel leaves behind are at rest.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "runner/rest.h"

enum { US = 1000, MS = 1000 * US, MOST_LOOKS = 10000 };

// A process whose threads take the same time at each stop, the share `work` (of 1000) of one processor in between, and
// `taken` ns more in the first pause.
struct threads {
  int64_t stop_ns, taken_ns;
  int work;
  bool parked;
  bool late; // not parked when they are first looked at
};

static enum rest_state settle(struct threads t, struct rest *r) {
  enum rest_state state = REST_NOT_YET;
  *r = (struct rest){.parked = t.parked && !t.late};
  while (state == REST_NOT_YET && r->looks < MOST_LOOKS) {
    int64_t pause = rest_pause_ns(r);
    state = rest_look(r, t.parked, true, t.stop_ns + pause / 1000 * t.work + (r->looks == 0 ? t.taken_ns : 0), pause);
  }
  return state;
}

static void parked_threads_rest_at_once(void **state) {
  (void)state;
  struct rest r;
  assert_int_equal(settle((struct threads){.stop_ns = 10 * US, .parked = true}, &r), REST_REACHED);
  assert_int_equal(r.looks, 1);
}

// What is done after the call is seen, next to what stopping and continuing take.
static void work_is_counted(void **state) {
  (void)state;
  struct rest r;
  for (int64_t stop = 5; stop <= 300; stop += 5)
    for (int64_t late = 60; late <= 3000; late += 60) {
      assert_int_equal(
          settle((struct threads){.stop_ns = stop * US, .taken_ns = late * US, .parked = true, .late = true}, &r),
          REST_REACHED);
      assert_true(rest_work_ns(&r) == late * US);
    }
  settle((struct threads){.stop_ns = 10 * US, .parked = true}, &r);
  assert_int_equal(rest_work_ns(&r), 0);
  settle((struct threads){.stop_ns = 250 * US, .parked = true}, &r); // a virtual machine whose host is busy
  assert_int_equal(rest_work_ns(&r), 0);
}

// 300 us a stop have been seen on a virtual machine with two threads; 128 threads at 160 us each make 70 times that.
static void slow_stops_are_no_work(void **state) {
  (void)state;
  struct rest r;
  for (int64_t us = 0; us <= 31000; us += 100) {
    assert_int_equal(settle((struct threads){.stop_ns = us * US, .parked = true}, &r), REST_REACHED);
    assert_true(r.wall_ns <= 256 * MS);
  }
}

// Where stopping takes long it does not always take the same: what is taken off is the least that it took.
static void no_work_is_free_where_stops_are_uneven(void **state) {
  (void)state;
  static const int at_rest_us[] = {900, 1000, 1100, 1200};
  struct rest r = {0};
  assert_int_equal(rest_look(&r, true, true, 1300 * US, rest_pause_ns(&r)), REST_NOT_YET);
  for (int i = 0; i < 3; i++)
    assert_int_equal(rest_look(&r, true, true, at_rest_us[i] * US, rest_pause_ns(&r)), REST_NOT_YET);
  assert_int_equal(rest_look(&r, true, true, at_rest_us[3] * US, rest_pause_ns(&r)), REST_REACHED);
  assert_int_equal(rest_work_ns(&r), 400 * US);
}

// Some stops take half as long again as others.
static void uneven_stops_are_no_work(void **state) {
  (void)state;
  struct rest r = {.parked = true};
  enum rest_state s = REST_NOT_YET;
  for (int i = 0; s == REST_NOT_YET; i++)
    s = rest_look(&r, true, true, (i % 2 == 0 ? 4000 : 6000) * US, rest_pause_ns(&r));
  assert_int_equal(s, REST_REACHED);
}

// The host takes the processor for 30 ms while a thread of ours has it.
static void stolen_time_is_no_work(void **state) {
  (void)state;
  struct rest r;
  assert_int_equal(settle((struct threads){.stop_ns = 20 * US, .taken_ns = 30 * MS, .parked = true}, &r), REST_REACHED);
  assert_int_equal(rest_work_ns(&r), 0);
}

// A futex call that returns at once, over and over: parked at every look.
static void work_that_looks_parked_is_refused(void **state) {
  (void)state;
  struct rest r;
  for (int share = 420; share <= 4000; share += 20) {
    assert_int_equal(settle((struct threads){.stop_ns = 10 * US, .work = share, .parked = true}, &r), REST_REFUSED);
    assert_true(r.wall_ns <= 256 * MS);
  }
  for (int stop = 0; stop <= 7000; stop += 500) { // many threads, one of them at work
    struct threads t = {.stop_ns = stop * US, .work = 800, .parked = true};
    assert_int_equal(settle(t, &r), REST_REFUSED);
  }
}

// A thread that sleeps or polls will work again.
static void sleepers_are_refused(void **state) {
  (void)state;
  struct rest r;
  assert_int_equal(settle((struct threads){.stop_ns = 10 * US}, &r), REST_REFUSED);
  assert_true(r.wall_ns >= 500 * MS && r.wall_ns <= 1000 * MS);
}

// OpenMP's workers wait for a processor that somebody else has.
static void a_late_end_is_waited_for(void **state) {
  (void)state;
  struct rest r = {0};
  for (int i = 0; i < 60; i++)
    assert_int_equal(rest_look(&r, false, true, 0, rest_pause_ns(&r)), REST_NOT_YET);
  assert_int_equal(rest_look(&r, true, true, 30 * US, rest_pause_ns(&r)), REST_NOT_YET); // it may have worked until now
  assert_int_equal(rest_look(&r, true, true, 30 * US, rest_pause_ns(&r)), REST_REACHED);
}

// One that was woken when the pause ended looks parked, and has run between two such looks.
static void who_ran_in_between_is_looked_at_again(void **state) {
  (void)state;
  struct rest r = {.parked = true};
  for (int i = 0; i < 5; i++)
    assert_int_equal(rest_look(&r, true, false, 30 * US, rest_pause_ns(&r)), REST_NOT_YET);
  assert_int_equal(rest_look(&r, true, true, 30 * US, rest_pause_ns(&r)), REST_REACHED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parked_threads_rest_at_once),
      cmocka_unit_test(slow_stops_are_no_work),
      cmocka_unit_test(uneven_stops_are_no_work),
      cmocka_unit_test(no_work_is_free_where_stops_are_uneven),
      cmocka_unit_test(stolen_time_is_no_work),
      cmocka_unit_test(work_that_looks_parked_is_refused),
      cmocka_unit_test(sleepers_are_refused),
      cmocka_unit_test(a_late_end_is_waited_for),
      cmocka_unit_test(work_is_counted),
      cmocka_unit_test(who_ran_in_between_is_looked_at_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
