// SPDX-License-Identifier: Apache-2.0
// How long a candidate is waited for on a busy machine.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limit.h"
#include "runner/patience.h"

static const int64_t S = 1000000000;

// When the time of a process is up that has a share of `mine` in a thousand of one processor, and is ready for as much
// of the rest as `ready` says.
static int64_t given_ns(int64_t limit_ns, int mine, int ready, int n_threads, int n_cpus) {
  int64_t end = limit_ns;
  for (int64_t now = end;; now = end) {
    int64_t waited = (now - now / 1000 * mine) / 1000 * ready;
    end = limit_end_ns(0, limit_ns, limit_starved_ns(waited, now, n_threads * (now / 1000 * mine), n_cpus), now);
    if (end <= now)
      return now;
  }
}

static void own_time_has_the_limit(void **state) {
  (void)state;
  assert_int_equal(given_ns(10 * S, 1000, 1000, 1, 2), 10 * S); // spins, alone
  assert_int_equal(given_ns(10 * S, 0, 0, 1, 2), 10 * S);       // sleeps, whatever else the machine does
}

// Of ten seconds of work that have a fifth of a processor, nearly all can be done.
static void waiting_is_given_back(void **state) {
  (void)state;
  int64_t given = given_ns(10 * S, 200, 1000, 1, 2);
  assert_in_range(given, 48 * S, 50 * S);
  assert_in_range(given_ns(10 * S, 500, 1000, 1, 1), 19 * S, 20 * S);
}

static void it_has_an_end(void **state) {
  (void)state;
  assert_int_equal(given_ns(10 * S, 1, 1000, 1, 2), LIMIT_MOST * 10 * S);
}

// A hundred threads on two processors, which they have to themselves.
static void own_threads_do_not_count(void **state) {
  (void)state;
  assert_int_equal(given_ns(10 * S, 20, 1000, 100, 2), 10 * S);
}

// A limit that is over before anybody looks.
static void late_looks_end(void **state) {
  (void)state;
  struct patience p;
  patience_init(&p, getpid(), 5 * S, 0);
  assert_false(patience_lasts(&p, 5 * S));
  patience_init(&p, getpid(), 5 * S, S);
  assert_true(patience_lasts(&p, 5 * S));
  assert_false(patience_lasts(&p, 6 * S));
}

// The judge stood still for five minutes, and the candidate perhaps with it: ctrl-Z, and fg.
static void a_stopped_judge_gives_its_time_back(void **state) {
  (void)state;
  struct patience p;
  const int64_t start = 5 * S, stop = 300 * S;
  patience_init(&p, getpid(), start, 10 * S);
  assert_true(patience_lasts(&p, start + PATIENCE_LOOK_NS));
  assert_true(patience_lasts(&p, start + stop));
  assert_in_range(p.end_ns, start + stop + 9 * S, start + stop + 10 * S);
  assert_int_equal(limit_stopped_ns(start, start + PATIENCE_LOOK_NS + S, PATIENCE_LOOK_NS), 0); // a busy machine
  for (int64_t now = start + stop; now < p.end_ns; now += S / 100)
    assert_true(patience_lasts(&p, now));
  assert_false(patience_lasts(&p, p.end_ns));
}

static pid_t spin_on(int cpu) {
  pid_t pid = fork();
  if (pid != 0)
    return pid;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
  for (volatile unsigned i = 0;; i++)
    ;
}

// Two processes that want the same processor, looked at from outside.
static void waits_are_seen(void **state) {
  (void)state;
  cpu_set_t mine;
  int cpu = 0;
  assert_int_equal(sched_getaffinity(0, sizeof mine, &mine), 0);
  while (!CPU_ISSET(cpu, &mine))
    cpu++;
  pid_t pids[2] = {spin_on(cpu), spin_on(cpu)};
  assert_true(pids[0] > 0 && pids[1] > 0);
  struct thread_figures before, after;
  threads_wait_times(pids[0], &before);
  int64_t waited = 0;
  for (int i = 0; i < 1000 && waited < 20000000; i++) {
    usleep(10000);
    threads_wait_times(pids[0], &after);
    waited = threads_waited_ns(&before, &after);
  }
  for (int i = 0; i < 2; i++) {
    kill(pids[i], SIGKILL);
    waitpid(pids[i], NULL, 0);
  }
  assert_int_equal(after.of.n, 1);
  assert_true(waited >= 20000000);
  threads_wait_times(pids[0], &after);
  assert_int_equal(after.of.n, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(own_time_has_the_limit),
      cmocka_unit_test(waiting_is_given_back),
      cmocka_unit_test(it_has_an_end),
      cmocka_unit_test(own_threads_do_not_count),
      cmocka_unit_test(late_looks_end),
      cmocka_unit_test(waits_are_seen),
      cmocka_unit_test(a_stopped_judge_gives_its_time_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
