// What a judge finds out about a GPU that it shares with a process of the candidate's, by work of its own there.
//
// Contexts of different processes take turns: while another has work, ours waits for its slice. So a piece of work of
// known length that takes much longer says that somebody else's is under way, wherever it came from: another stream, a
// kernel that never ends, a second process. But the host's clock measures it, which is late by itself now and then, and
// a GPU that has slept takes some milliseconds to wake: one slow probe makes a time worthless, and only what goes on
// and on is somebody's work.
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
  // Carries the work out and waits for it. *ns: how long that took, by the host's clock.
  enum assay_status (*run)(void *arg, enum gpu_probe_kind kind, int64_t *ns, struct assay_error *err);
  void *arg;
  double usual_ns[GPU_PROBE_KINDS]; // without a candidate; 0: not known yet, nothing is slow
};

// Before a call, with the process frozen: large probes until one is not slow. *slow: the first was, so that the time of
// the call says nothing. *busy: all were, for a tenth of a second.
enum assay_status gpu_probe_before(struct gpu_probe *p, bool *slow, bool *busy, int64_t *ns, struct assay_error *err);

// After it: small probes until one is not slow; *end_ns: by clock_monotonic_ns, when the work ended that made them
// slow, or else when the first probe did. *late: it still goes on at the deadline.
enum assay_status gpu_probe_after(struct gpu_probe *p, int64_t deadline_ns, int64_t *end_ns, int64_t *ns, bool *late,
                                  struct assay_error *err);

#endif
