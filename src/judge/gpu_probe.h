// SPDX-License-Identifier: Apache-2.0
// Finds out whether a candidate's process still has work on a GPU, by running work of the judge's own there.
//
// Contexts of different processes take turns on a GPU: while one has work, the others wait for their time slice. So if
// a probe (work of known length) takes much longer than usual, another context has work: from another stream, a kernel
// that never ends, or a second process. But the probe is measured by the host's clock, which is sometimes late, and an
// idle GPU takes some milliseconds to wake. Therefore one slow probe only invalidates a time; probes that stay slow
// show that work goes on.
#ifndef JUDGE_GPU_PROBE_H
#define JUDGE_GPU_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum gpu_probe_kind {
  GPU_PROBE_LARGE, // fills more than the last-level cache holds, which is cold afterwards
  GPU_PROBE_SMALL, // a few bytes
  GPU_PROBE_KINDS
};

struct gpu_probe {
  // Runs the work and waits for it. *ns: how long that took, by the host's clock.
  enum assay_status (*run)(void *arg, enum gpu_probe_kind kind, int64_t *ns, struct assay_error *err);
  void *arg;
  double usual_ns[GPU_PROBE_KINDS]; // without a candidate; 0: unknown yet, and then no probe counts as slow
};

// Before a call, while the process is frozen: runs large probes until one is not slow. *slow: the first was slow, so
// the time of the call must not be used. *busy: all were slow, for a second.
enum assay_status gpu_probe_before(struct gpu_probe *p, bool *slow, bool *busy, int64_t *ns, struct assay_error *err);

// After a call: runs small probes until one is not slow. *end_ns (clock_monotonic_ns): when the work ended that made
// them slow; if none was slow, when the first probe ended. *late: the work still goes on at the deadline.
enum assay_status gpu_probe_after(struct gpu_probe *p, int64_t deadline_ns, int64_t *end_ns, int64_t *ns, bool *late,
                                  struct assay_error *err);

// After the candidate's process has ended, since work went on for too long: whether it goes on without it. *others: a
// probe was slow within a second, so another process uses the GPU, and the candidate need not have had a part in it.
enum assay_status gpu_probe_whose(struct gpu_probe *p, bool *others, struct assay_error *err);

#endif
