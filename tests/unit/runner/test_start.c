// SPDX-License-Identifier: Apache-2.0
// Waiting at the start line: what it takes of the processor, and that everyone comes to hear of the start.
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "runner/start.h"

enum { MS = 1000000, US = 1000, WAIT_NS = 20 * MS, TRIES = 20 };

struct waiter {
  struct runner_start *start;
  uint32_t number;
  int64_t worked_ns;
  pthread_t thread;
};

static int64_t own_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *wait_there(void *arg) {
  struct waiter *w = arg;
  const int64_t before = own_ns();
  start_await(w->start, w->number);
  w->worked_ns = own_ns() - before;
  return NULL;
}

static void begin(struct waiter *w) {
  assert_int_equal(pthread_create(&w->thread, NULL, wait_there, w), 0);
}

static void end(struct waiter *w) {
  assert_int_equal(pthread_join(w->thread, NULL), 0);
}

// The processor time that waiting takes: the least of some tries, for a host may stop a virtual machine in any of them.
static int64_t least_worked_ns(struct runner_start *start) {
  int64_t least = INT64_MAX;
  for (uint32_t i = 1; i <= TRIES; i++) {
    struct waiter w = {.start = start, .number = i};
    begin(&w);
    nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
    start_raise(start, i);
    end(&w);
    least = w.worked_ns < least ? w.worked_ns : least;
  }
  return least;
}

// A judge that waits for a runner on its own processor gets it at once.
static void on_the_judges_processor_it_sleeps(void **state) {
  (void)state;
  struct runner_start start = {0};
  cpu_set_t all, one;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0); // threads that begin later inherit it
  start_prepare(&start);
  assert_true(least_worked_ns(&start) < 50 * US);
  assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

// A judge that has lost its processor, or says none, may need this one.
static void elsewhere_it_does_not_spin_for_long(void **state) {
  (void)state;
  struct runner_start start = {.judge_cpu = -1};
  assert_true(least_worked_ns(&start) < 5 * MS);
}

static void all_are_told(void **state) {
  (void)state;
  struct runner_start start = {.judge_cpu = -1};
  struct waiter w[3];
  for (int i = 0; i < 3; i++) {
    w[i] = (struct waiter){.start = &start, .number = 7};
    begin(&w[i]);
  }
  nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL); // they sleep by now; if not, so much the better
  start_raise(&start, 7);
  for (int i = 0; i < 3; i++)
    end(&w[i]);
  struct waiter late = {.start = &start, .number = 7};
  begin(&late); // the flag is up
  end(&late);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(on_the_judges_processor_it_sleeps),
      cmocka_unit_test(elsewhere_it_does_not_spin_for_long),
      cmocka_unit_test(all_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
