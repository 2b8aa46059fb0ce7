// SPDX-License-Identifier: Apache-2.0
// Timing a candidate that answered every question right.
#ifndef JUDGE_TIMING_H
#define JUDGE_TIMING_H

#include "judge/subject.h"

// A timed call that is kept for verification. Which calls are kept is secret, and uniform over the cold calls, of which
// most are, and over the others.
struct timed_call {
  bool used;
  enum probe probe; // most are PROBE_DECLARED
  uint64_t key;
  uint32_t poison;
  void **outputs; // copies of what the candidate left
};

struct timing_session {
  struct subject *subject;              // has `layout` bound
  struct assay_baselines *baselines;    // called in turn with the candidate; NULL: none
  struct assay_comparison *comparisons; // one of each, with room for options->max_samples pairs
  const struct layout *layout;
  const struct assay_judge_options *options;
  uint64_t key;       // of the inputs' draws
  uint64_t secret;    // which calls are verified
  unsigned probes;    // bit i: enum probe i may be asked between two samples; such a call is verified and not a sample
  int64_t left_ns;    // of the candidate's budget
  double overhead_ns; // the protocol's own cost, before the candidate was there; measured again after the samples
  double excess_ns, doubt_ns; // subject_ops.recheck
  // Outputs too large to keep are verified at once, in place, between two samples: the last call's.
  enum assay_status (*verify)(void *arg, enum probe probe, uint64_t key, uint32_t poison, struct assay_error *err);
  void *verify_arg;
  // The results.
  struct assay_timing *timing;
  int64_t kernel_ns;          // of all calls together
  double hot_high_ns;         // the upper end of the hot median's interval; NaN: unknown
  struct stamps_facts stamps; // what other clocks say
  struct timed_call *kept;    // options->verified_calls of them, not all used; timed_calls_release
  int n_kept, n_probed;       // verified calls on the declared distribution, and on probes
};

// Takes samples until the stopping rule is satisfied. If the candidate fails, report->event says how, and the samples
// so far are dropped.
enum assay_status timing_run(struct timing_session *s, struct runner_report *report, struct assay_error *err);

void timed_calls_release(struct timed_call *calls, int n, int n_out);

#endif
