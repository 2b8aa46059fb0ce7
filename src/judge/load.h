// SPDX-License-Identifier: Apache-2.0
// What else a machine does while it is measured. Times of a busy one say nothing of a kernel.
#ifndef JUDGE_LOAD_H
#define JUDGE_LOAD_H

#include "assay/judge.h"

// The counters of a moment.
struct load_look {
  bool known;
  int64_t at_ns;
  int cpus;                         // that this process may use
  double busy_s, stolen_s, total_s; // of them, since the machine was started; total: with what they idled
  double own_s;                     // processor time of this process and of its children
  double average;                   // the load average of the last minute
};

// Reads them below `proc` (NULL: /proc). Takes a fraction of a millisecond.
void load_look(const char *proc, struct load_look *out);

// How many processes the machine's kernel has ended for want of memory since it was started, below `proc`; -1: unknown.
int64_t load_oom_kills(const char *proc);

// What the machine did between two looks.
struct assay_load load_between(const struct load_look *before, const struct load_look *after);

// Others, or the host of a virtual machine, took so much that times are not those of the kernel; a part of it makes
// them doubtful. Where the counters stand still, the load average alone decides.
bool load_is_too_much(const struct assay_load *l);
bool load_is_felt(const struct assay_load *l);

// Whether the host's work shows in a verdict's times: of plans on a GPU there is none.
bool load_shows_in(const struct assay_verdict *v);

// "load 11 on 2 CPUs", "load 3, 45 % of the time stolen, on 2 CPUs".
const char *load_text(const struct assay_load *l, char *text, size_t size);

#endif
