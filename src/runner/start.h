// SPDX-License-Identifier: Apache-2.0
// The start line of a call: the runner waits there until the judge raises a flag, its clock just having begun.
//
// The runner spins, for a tenth of a millisecond at most, while the judge is at work on another processor: so few calls
// have the time of waking up in them, and what it takes is measured without a candidate. Where both share one, as they
// may on a machine with two, spinning would keep the judge from seeing that the runner has come, for a tenth of a
// millisecond and more, whatever sched_yield is asked; and the way to the start line is charged. There the runner
// sleeps at once, and so has little processor time of its own.
#ifndef RUNNER_START_H
#define RUNNER_START_H

#include "runner/protocol.h"

// The judge, before it lets the runner go to the start line.
void start_prepare(struct runner_start *s);

// The runner: returns when the flag of this call is raised.
void start_await(struct runner_start *s, uint32_t number);

// The judge.
void start_raise(struct runner_start *s, uint32_t number);

#endif
