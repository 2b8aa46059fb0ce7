// SPDX-License-Identifier: Apache-2.0
// Checks the device's clock against two others. Pure functions of the times of calls.
//
// The time of a plan is measured between two events. The driver keeps their stamps in memory that a kernel can write,
// so a kernel could forge them. Each call is therefore measured in two more ways:
//   * between stamps that kernels cannot reach (device/cuda_flush.c); these scatter more than the events do;
//   * by the judge's own clock, from the request to the answer.
// docs/timing.md says what follows when the three disagree.
#ifndef JUDGE_STAMPS_H
#define JUDGE_STAMPS_H

#include <stdbool.h>

#include "judge/overhead.h"

// The three measures of a call without a kernel, in ns: the cost of the protocol itself.
struct stamps_null {
  double events_ns, wall_ns;
  double outside_ns; // between the stamps out of kernels' reach; 0: the device has none
};

// Calls without a kernel, as they were measured. Start with {0}.
enum { STAMPS_NULLS = 16 };
struct stamps_nulls {
  int n, n_outside;
  struct overhead events;
  double walls_ns[STAMPS_NULLS], apart_ns[STAMPS_NULLS]; // apart: outside less events
};

// outside_ns 0: unknown. Calls beyond STAMPS_NULLS are left out.
void stamps_null_add(struct stamps_nulls *all, double events_ns, double outside_ns, double wall_ns);

// What the calls together show. Of the events' time a low quantile, and never more than a sane device takes: it is
// taken off the candidate's.
struct stamps_null stamps_null_of(const struct stamps_nulls *all);

// Takes in what was measured after the timed calls, while the machine was as it was for them: the smaller cost is the
// protocol's, and the larger one by the judge's clock says what others kept the device from (other contexts, another
// process).
void stamps_null_again(struct stamps_null *null, const struct stamps_null *after);

// One call, as the clocks measured it, in ns.
struct stamps_call {
  bool as_called;    // includes the host's part of launching; such a call is not compared
  bool cold;         // a cold call at the timed workload; the medians are over these
  bool repeated;     // its steps ran twice on the same inputs
  bool let_go_early; // the stream began before all steps were queued
  double events_ns, wall_ns;
  double outside_ns; // 0: unknown
};

// What is kept of all calls. Start with {0}.
enum { STAMPS_MOST = 1024 };
struct stamps {
  int n_walls, n_excess;
  double walls_ns[STAMPS_MOST];  // of cold calls, by the judge's clock
  double excess_ns[STAMPS_MOST]; // of cold calls: time by the stamps outside minus time by the events
  int n_compared;                // calls that have both times
  int n_apart;                   // of these, calls whose events report too short a time
};

// Records a call and returns its time. That is the events' time, unless the stamps outside show a much longer one; then
// it is theirs, converted so that the overhead of the events can be subtracted from it. *counts is false where the
// time must not be used: the call was repeated, or lacks the stamps outside.
double stamps_take(struct stamps *s, const struct stamps_null *null, const struct stamps_call *c, bool *counts);

// What all calls together show.
struct stamps_facts {
  double wall_ns;     // the median cold call by the judge's clock, minus a call without a kernel; NaN: unknown
  double queueing_ns; // the part of wall_ns that may be the host's work before the device begins
  double excess_ns;   // by how much the events' median is too short, to be added; 0: no more than chance explains
  int n_compared, n_apart;
};

// `samples`: the cold calls' times. `n_queued`: steps that are queued before the device begins.
struct stamps_facts stamps_judge(const struct stamps *s, const struct stamps_null *null, const double *samples, int n,
                                 int n_queued);

// Whether the judge's clock says that work ran outside the events.
bool stamps_say_elsewhere(const struct stamps_facts *f, double median_ns);

// Forgets how long the calls took. What was found forged stays.
void stamps_time_again(struct stamps *s);

// Whether work ran outside the events, or their stamps were forged by more than what is added to the time anyway.
bool stamps_are_suspicious(const struct stamps_facts *f, double median_ns);

#endif
