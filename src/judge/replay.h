// SPDX-License-Identifier: Apache-2.0
// Carrying out a launch plan from a file, without a task: inputs are drawn from a normal distribution (integers from 0
// to 7), outputs are what they are. For looking at a plan's time, not for judging it.
#ifndef JUDGE_REPLAY_H
#define JUDGE_REPLAY_H

#include "assay/judge.h"
#include "plan/plan.h"

struct replay_result {
  double cold_ns, hot_ns, called_ns; // medians, the protocol's own cost taken off the first two
  int samples;
  char device[160];
  char failure[320]; // "" when it ran
  uint64_t *digests; // of each output after the last call; heap
  int n_digests;
};

// o: device, device_index and the paths of programs. samples: how many of each kind.
enum assay_status replay_plan(const struct assay_judge_options *o, const struct plan *p, int samples, uint64_t seed,
                              struct replay_result *out, struct assay_error *err);

#endif
