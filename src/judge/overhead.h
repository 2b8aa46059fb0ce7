// SPDX-License-Identifier: Apache-2.0
// What the protocol of a call costs: calls without a kernel, as the judge's own clock sees them. Pure functions.
//
// It is taken off a candidate's times, so a cost that is measured too high is a gift: a machine that was disturbed
// while it was measured would make times too short, down to nothing. Too low only makes them longer.
#ifndef JUDGE_OVERHEAD_H
#define JUDGE_OVERHEAD_H

#include <stdbool.h>

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

// One call without a kernel, before the candidate is there.
struct overhead_call {
  double spent_ns;  // by the judge's clock
  double arming_ns; // until the process was at the start line
  double first_ns;  // processor time of its first thread
  double waited_ns; // that this thread and the judge's had no processor, since others had it
  bool hot;
};

// What is believed of such calls at most, or what they take on a machine that nobody disturbs.
struct overhead_limits {
  double spent_ns, arming_ns, first_ns;
};
extern const struct overhead_limits overhead_quiet; // of C

// What such calls take, with what is allowed of it to a candidate's call. Doubtful: others had the processors in so
// many of them that nothing is known. Then as little is allowed as a machine takes that nobody disturbs (`quiet`): a
// busy machine makes times too long, and never too short. Where no call was hot, hot ones are not told apart.
struct overhead_usual {
  double spent_ns, arming_ns, hot_arming_ns, first_ns;
  bool doubtful;
};
struct overhead_usual overhead_usual_of(const struct overhead_call *calls, int n, const struct overhead_limits *most,
                                        const struct overhead_limits *quiet);

// The most that a call may hide in what is allowed; and whether that is more than a quiet machine takes.
double overhead_most_allowed(const struct overhead_usual *u);
bool overhead_is_dear(const struct overhead_usual *u);

// What most calls were charged too little, by what each was: the median, or 0.
double overhead_excess(const double *too_little_ns, int n);

#endif
