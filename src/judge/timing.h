// Timing a candidate that answered every question right.
#ifndef JUDGE_TIMING_H
#define JUDGE_TIMING_H

#include "judge/question.h"

// What the timing loop leaves for verification: calls chosen in secret, uniformly over all timed calls.
struct timed_call {
  uint64_t key;
  uint32_t poison;
  void **outputs; // copies of what the candidate left
};

struct session;
struct timing_session {
  struct assay_baselines *baselines;    // called in turn with the candidate; NULL: none
  struct assay_comparison *comparisons; // one of each, with room for options->max_samples pairs
  struct session *session;              // its subject has the layout bound
  const struct layout *layout;
  const struct assay_judge_options *options;
  uint64_t key;       // of the inputs' draws
  uint64_t secret;    // which calls are verified
  double overhead_ns; // the protocol's own cost
  struct assay_timing *timing;
  int64_t *kernel_ns;
  // Outputs too large to keep are verified at once, in place, between two samples: the last call's.
  enum assay_status (*verify)(struct session *s, uint64_t key, uint32_t poison, struct assay_error *err);
  struct timed_call *kept; // at most options->verified_calls; timed_calls_release
  int n_kept;
};

// Takes samples until the stopping rule is content. If the candidate fails on the way, report->event says how and
// the samples so far are dropped.
enum assay_status timing_run(struct timing_session *s, struct runner_report *report, struct assay_error *err);

void timed_calls_release(struct timed_call *calls, int n, int n_out);

#endif
