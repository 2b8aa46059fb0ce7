// SPDX-License-Identifier: Apache-2.0
#include "runner/patience.h"

#include "base/limit.h"
#include "base/parallel.h"

enum { NOTED_AFTER = 8 }; // of the limit, one part in so many

void patience_init(struct patience *p, pid_t pid, int64_t start_ns, int64_t limit_ns) {
  p->pid = pid;
  p->start_ns = start_ns;
  p->limit_ns = limit_ns;
  p->end_ns = start_ns + limit_ns;
  p->looked_ns = start_ns;
  p->noted = false;
}

static void note(struct patience *p, int64_t now_ns) {
  p->noted = true;
  p->noted_ns = now_ns;
  p->cpu_ns = threads_process_ns(p->pid);
  threads_wait_times(p->pid, &p->waits);
}

// The candidate may have stood still with the judge: a user who stops `assay` stops the terminal's whole group.
static void give_back_stop(struct patience *p, int64_t now_ns) {
  int64_t stopped_ns = limit_stopped_ns(p->looked_ns, now_ns, PATIENCE_LOOK_NS);
  p->looked_ns = now_ns;
  p->start_ns += stopped_ns;
  p->noted_ns += stopped_ns;
  if (p->end_ns < INT64_MAX - stopped_ns)
    p->end_ns += stopped_ns;
}

bool patience_lasts(struct patience *p, int64_t now_ns) {
  struct thread_figures waits;
  give_back_stop(p, now_ns);
  if (!p->noted && now_ns - p->start_ns >= p->limit_ns / NOTED_AFTER)
    note(p, now_ns);
  if (now_ns < p->end_ns)
    return true;
  threads_wait_times(p->pid, &waits);
  int64_t starved_ns = limit_starved_ns(threads_waited_ns(&p->waits, &waits), now_ns - p->noted_ns,
                                        threads_process_ns(p->pid) - p->cpu_ns, parallel_cpus());
  p->end_ns = limit_end_ns(p->start_ns, p->limit_ns, starved_ns, now_ns);
  return now_ns < p->end_ns;
}
