// SPDX-License-Identifier: Apache-2.0
#include "runner/start.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/clock.h"

// The judge answers within microseconds: after so long it has lost its processor.
enum { SPINS_A_LOOK = 16, MOST_SPIN_NS = 100000 };

void start_prepare(struct runner_start *s) {
  atomic_store(&s->judge_cpu, sched_getcpu());
}

static bool may_spin(const struct runner_start *s, int64_t until_ns) {
  return sched_getcpu() != atomic_load(&s->judge_cpu) && clock_monotonic_ns() < until_ns;
}

void start_await(struct runner_start *s, uint32_t number) {
  const int64_t until_ns = clock_monotonic_ns() + MOST_SPIN_NS;
  uint32_t seen;
  for (unsigned turn = 0; (seen = atomic_load_explicit(&s->number, memory_order_acquire)) != number; turn++) {
    if (turn % SPINS_A_LOOK == 0 && !may_spin(s, until_ns))
      syscall(SYS_futex, &s->number, FUTEX_WAIT, seen, NULL, NULL, 0);
#if defined(__x86_64__)
    else
      _mm_pause();
#endif
  }
}

// Wakes all: a thread of the candidate that waits here, too, must not be the one that is woken instead.
void start_raise(struct runner_start *s, uint32_t number) {
  atomic_store(&s->number, number);
  syscall(SYS_futex, &s->number, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
