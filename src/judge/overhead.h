// SPDX-License-Identifier: Apache-2.0
// What the protocol of a call costs: calls without a kernel, as the judge's own clock sees them. Pure functions.
//
// It is taken off a candidate's times, so a cost that is measured too high is a gift: a machine that was disturbed
// while it was measured would make times too short, down to nothing. Too low only makes them longer.
#ifndef JUDGE_OVERHEAD_H
#define JUDGE_OVERHEAD_H

enum { OVERHEAD_MOST_CALLS = 32 };

// Start with {0}.
struct overhead {
  int n;
  double spent_ns[OVERHEAD_MOST_CALLS];
};

// Calls beyond OVERHEAD_MOST_CALLS are left out.
void overhead_add(struct overhead *o, double ns);

// A low quantile of the calls, and never more than `most_ns`, which no sane machine takes. NaN: there were no calls.
double overhead_of(const struct overhead *o, double most_ns);

// The cost by the calls before the candidate was there and by those after its timed calls: the smaller one. So nothing
// that the candidate does to calls without a kernel makes its time shorter. NaN of either: the other one.
double overhead_both(double before_ns, double after_ns);

// What a candidate's process may take to come to the start line, by how long it takes without a candidate: somewhat
// more than usual, and never more than for `most_ns`. What it takes beyond that counts as its time. A machine that was
// disturbed while this was measured gives nothing away.
double overhead_allowance(const double *arming_ns, int n, double most_ns);

// The same for the processor time of the runner's thread, which hardly varies where nothing disturbs: a low quantile.
double overhead_work_allowance(const double *first_ns, int n, double most_ns);

#endif
