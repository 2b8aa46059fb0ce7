#include "runner/patience.h"

#include "base/parallel.h"

enum {
  NOTED_AFTER = 8, // of the limit, one part in so many
  LEAST_PART = 64  // less than this part of the limit is not worth another wait
};

void patience_init(struct patience *p, pid_t pid, int64_t start_ns, int64_t limit_ns) {
  p->pid = pid;
  p->start_ns = start_ns;
  p->limit_ns = limit_ns;
  p->end_ns = start_ns + limit_ns;
  p->noted = false;
}

static void note(struct patience *p, int64_t now_ns) {
  p->noted = true;
  p->noted_ns = now_ns;
  p->cpu_ns = threads_process_ns(p->pid);
  threads_wait_times(p->pid, &p->waits);
}

int64_t patience_starved_ns(int64_t waited_ns, int64_t wall_ns, int64_t cpu_ns, int n_cpus) {
  int64_t left_ns = wall_ns - cpu_ns / n_cpus;
  int64_t starved_ns = waited_ns < left_ns ? waited_ns : left_ns;
  return starved_ns > 0 ? starved_ns : 0;
}

int64_t patience_end_ns(int64_t start_ns, int64_t limit_ns, int64_t starved_ns, int64_t now_ns) {
  int64_t end_ns = start_ns + limit_ns + starved_ns, last_ns = start_ns + PATIENCE_LIMITS * limit_ns;
  if (end_ns > last_ns)
    end_ns = last_ns;
  return end_ns > now_ns + limit_ns / LEAST_PART ? end_ns : now_ns;
}

bool patience_lasts(struct patience *p, int64_t now_ns) {
  struct thread_waits waits;
  if (!p->noted && now_ns - p->start_ns >= p->limit_ns / NOTED_AFTER)
    note(p, now_ns);
  if (now_ns < p->end_ns)
    return true;
  threads_wait_times(p->pid, &waits);
  int64_t starved_ns = patience_starved_ns(threads_waited_ns(&p->waits, &waits), now_ns - p->noted_ns,
                                           threads_process_ns(p->pid) - p->cpu_ns, parallel_cpus());
  p->end_ns = patience_end_ns(p->start_ns, p->limit_ns, starved_ns, now_ns);
  return now_ns < p->end_ns;
}
