// SPDX-License-Identifier: Apache-2.0
// Decides whether the threads that a kernel leaves behind are at rest.
//
// After a call that returned, the judge lets the frozen process run for a moment, freezes it again and looks. Being
// continued and stopped takes every thread some processor time by itself: a few microseconds, or hundreds on a virtual
// machine whose host is busy or which has many processors: dozens of parked threads then take milliseconds together.
// That time does not grow with the pause, but the time of a thread at work does. So each pause is twice as long as the
// one before, and rest is little time against the pause.
//
// What is done in these pauses was left for after the call: tidying up, preparing the next one. It is part of the
// call's time. What stopping and continuing take by themselves shows the pause that took least: the last one, at the
// latest, begins and ends with everything at rest, and a thread that is parked does not go on by itself. The least, for
// what is taken off too much would be work for nothing: with 128 parked threads on two processors the pauses at rest of
// one call take 0.8 to 1.3 ms. So an honest kernel with so many threads may be charged some of what stopping them
// takes.
#ifndef RUNNER_REST_H
#define RUNNER_REST_H

#include <stdbool.h>
#include <stdint.h>

struct rest { // zeros at the start
  int looks;
  int restless;            // pauses that began with something at work
  int64_t restless_ns;     // of these
  bool parked;             // at the last look; before the first one the caller sets it
  int64_t run_ns, wall_ns; // of all pauses
  int64_t least_run_ns;
};

enum rest_state { REST_NOT_YET, REST_REACHED, REST_REFUSED };

// How long the process runs before the next look.
int64_t rest_pause_ns(const struct rest *r);

// The look after a pause that took `wall_ns`. `parked`: every thread but the main one waits for another thread.
// `still`: none of them has run code of its own in the pause (threads_stood_still). `run_ns`: processor time of these
// threads during the pause, all together and with those that ended.
enum rest_state rest_look(struct rest *r, bool parked, bool still, int64_t run_ns, int64_t wall_ns);

// Of the pauses that began with something at work: the processor time that was no stopping and continuing.
int64_t rest_work_ns(const struct rest *r);

#endif
