// SPDX-License-Identifier: Apache-2.0
// How long an answer is waited for. What the candidate's threads wait for processors that others have is given back,
// and so is time in which the judge itself stood still (base/limit.h).
#ifndef RUNNER_PATIENCE_H
#define RUNNER_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "runner/threads.h"

// Whoever waits looks at least so often.
enum { PATIENCE_LOOK_NS = 5000000 };

struct patience {
  pid_t pid;
  int64_t start_ns, limit_ns, end_ns; // by clock_monotonic_ns; until end_ns is waited for now
  int64_t looked_ns;
  bool noted; // what follows, some time after the start: few calls take so long
  int64_t noted_ns, cpu_ns;
  struct thread_figures waits;
};

void patience_init(struct patience *p, pid_t pid, int64_t start_ns, int64_t limit_ns);

// To be called every PATIENCE_LOOK_NS. False: the time is up.
bool patience_lasts(struct patience *p, int64_t now_ns);

#endif
