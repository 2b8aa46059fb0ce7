// SPDX-License-Identifier: Apache-2.0
// Waiting at the start line: what it takes of the processor, where judge and runner share one and where they do not,
// and that everyone comes to hear of the start.
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "runner/start.h"
#include "skip.h"

// LITTLE: what sleeping takes, at most; MUCH: what spinning takes at least, most of the tenth of a millisecond.
enum { MS = 1000000, US = 1000, WAIT_NS = 20 * MS, TRIES = 20, LITTLE_NS = 50 * US, MUCH_NS = 80 * US };

struct waiter {
  struct runner_start *start;
  const cpu_set_t *where; // NULL: where the thread that begins it may be
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
  pthread_attr_t how;
  assert_int_equal(pthread_attr_init(&how), 0);
  if (w->where)
    assert_int_equal(pthread_attr_setaffinity_np(&how, sizeof *w->where, w->where), 0);
  assert_int_equal(pthread_create(&w->thread, &how, wait_there, w), 0);
  pthread_attr_destroy(&how);
}

static void end(struct waiter *w) {
  assert_int_equal(pthread_join(w->thread, NULL), 0);
}

static int ascending(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

// The processor time that waiting takes in each of the tries, the least first. A host may stop a virtual machine, and a
// neighbour take the processor, in any of them.
static void find_worked_ns(struct runner_start *start, const cpu_set_t *where, int64_t worked_ns[TRIES]) {
  for (uint32_t i = 1; i <= TRIES; i++) {
    struct waiter w = {.start = start, .where = where, .number = i};
    begin(&w);
    nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
    start_raise(start, i);
    end(&w);
    worked_ns[i - 1] = w.worked_ns;
  }
  qsort(worked_ns, TRIES, sizeof *worked_ns, ascending);
}

// The judge's processor, where it stays from here on, and all others that there are.
static cpu_set_t judge_stays(cpu_set_t *others) {
  cpu_set_t all, one;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  CPU_XOR(others, &all, &one);
  return all;
}

// A judge that waits for a runner on its own processor gets it at once; on another the runner is awake for as long as
// a judge takes, so that a call has no waking up in it.
static void it_spins_on_another_processor_only(void **state) {
  (void)state;
  struct runner_start start = {0};
  cpu_set_t others;
  const cpu_set_t all = judge_stays(&others);
  int64_t shared_ns[TRIES], apart_ns[TRIES] = {0};
  start_prepare(&start);
  find_worked_ns(&start, NULL, shared_ns);
  const bool has_others = CPU_COUNT(&others) > 0;
  if (has_others) {
    start = (struct runner_start){0};
    start_prepare(&start);
    find_worked_ns(&start, &others, apart_ns);
  }
  assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
  assert_true(shared_ns[0] < LITTLE_NS);
  if (!has_others)
    SKIP_BECAUSE("one processor: a runner has no other to spin on");
  print_message("shared: %.1f us of processor time, apart: %.1f us\n", (double)shared_ns[TRIES / 2] * 1e-3,
                (double)apart_ns[TRIES / 2] * 1e-3);
  assert_true(apart_ns[TRIES * 3 / 4] > MUCH_NS); // a neighbour may have had the processor in many
}

// A judge that has lost its processor, or says none, may need this one.
static void elsewhere_it_does_not_spin_for_long(void **state) {
  (void)state;
  struct runner_start start = {.judge_cpu = -1};
  int64_t worked_ns[TRIES];
  find_worked_ns(&start, NULL, worked_ns);
  assert_true(worked_ns[0] < 5 * MS);
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
      cmocka_unit_test(it_spins_on_another_processor_only),
      cmocka_unit_test(elsewhere_it_does_not_spin_for_long),
      cmocka_unit_test(all_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
