// How long an answer is waited for. A limit is meant for what a candidate does. On a busy machine a thread may be ready
// for most of that time and have no processor: that time is not the candidate's, and is given back.
#ifndef RUNNER_PATIENCE_H
#define RUNNER_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "runner/threads.h"

// No more than so many limits in all, however busy the machine is.
enum { PATIENCE_LIMITS = 10 };

struct patience {
  pid_t pid;
  int64_t start_ns, limit_ns, end_ns; // by clock_monotonic_ns; until end_ns is waited for now
  bool noted;                         // what follows, some time after the start: few calls take so long
  int64_t noted_ns, cpu_ns;
  struct thread_waits waits;
};

void patience_init(struct patience *p, pid_t pid, int64_t start_ns, int64_t limit_ns);

// To be called now and then. False: the time is up.
bool patience_lasts(struct patience *p, int64_t now_ns);

// The time of wall_ns in which others kept a process from its work: waited_ns, the longest that one of its threads was
// ready and had no processor, but no more than what the process left of n_cpus processors. Threads that keep each other
// waiting leave nothing.
int64_t patience_starved_ns(int64_t waited_ns, int64_t wall_ns, int64_t cpu_ns, int n_cpus);

// When the time is up, as known at now_ns: now_ns or earlier if it is up now.
int64_t patience_end_ns(int64_t start_ns, int64_t limit_ns, int64_t starved_ns, int64_t now_ns);

#endif
