// SPDX-License-Identifier: Apache-2.0
#include "judge/gpu_probe.h"

#include <time.h>

#include "base/clock.h"

// A probe is slow if it takes this much longer than usual. The time slice of another context is one or two
// milliseconds.
static const double SLOW_PART = 1.5, SLOW_NS = 100000;

// No GPU takes so long to wake, and no host is late so often. What a process that was stopped while it was recorded has
// queued (a whole model's kernels) runs on for less.
static const int64_t BUSY_NS = 1000000000;

// The work of a process that was killed is gone from a GPU within milliseconds. What comes after this is another's, who
// may well rest in between.
static const int64_t GONE_NS = 400000000, WATCH_NS = 1000000000;
static const int64_t PAUSE_NS = 5000000;

static bool is_slow(const struct gpu_probe *p, enum gpu_probe_kind kind, int64_t ns) {
  double usual = p->usual_ns[kind];
  return usual > 0 && (double)ns > SLOW_PART * usual && (double)ns > usual + SLOW_NS;
}

enum assay_status gpu_probe_before(struct gpu_probe *p, bool *slow, bool *busy, int64_t *ns, struct assay_error *err) {
  int64_t start_ns = clock_monotonic_ns();
  *slow = *busy = false;
  for (int n = 1; !*busy; n++) {
    enum assay_status status = p->run(p->arg, GPU_PROBE_LARGE, ns, err);
    if (status || !is_slow(p, GPU_PROBE_LARGE, *ns))
      return status;
    *slow = true;
    *busy = n > 1 && clock_monotonic_ns() - start_ns >= BUSY_NS;
  }
  return ASSAY_OK;
}

enum assay_status gpu_probe_after(struct gpu_probe *p, int64_t deadline_ns, int64_t *end_ns, int64_t *ns, bool *late,
                                  struct assay_error *err) {
  enum assay_status status = p->run(p->arg, GPU_PROBE_SMALL, ns, err);
  *end_ns = clock_monotonic_ns();
  *late = false;
  bool slow = is_slow(p, GPU_PROBE_SMALL, *ns);
  while (!status && slow && !*late) {
    int64_t again_ns = 0;
    status = p->run(p->arg, GPU_PROBE_SMALL, &again_ns, err);
    slow = is_slow(p, GPU_PROBE_SMALL, again_ns);
    if (slow)
      *end_ns = clock_monotonic_ns();
    *late = slow && *end_ns >= deadline_ns;
  }
  return status;
}

enum assay_status gpu_probe_whose(struct gpu_probe *p, bool *others, struct assay_error *err) {
  const int64_t start_ns = clock_monotonic_ns();
  enum assay_status status = ASSAY_OK;
  int64_t spent_ns = 0;
  *others = false;
  while (!status && !*others && spent_ns < WATCH_NS) {
    int64_t ns = 0;
    status = p->run(p->arg, GPU_PROBE_LARGE, &ns, err);
    *others = spent_ns >= GONE_NS && is_slow(p, GPU_PROBE_LARGE, ns);
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    spent_ns = clock_monotonic_ns() - start_ns;
  }
  return status;
}
