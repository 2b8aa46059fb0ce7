// SPDX-License-Identifier: Apache-2.0
#include "runner/rest.h"

enum {
  FIRST_PAUSE_NS = 500000,
  DOUBLINGS = 8,           // the longest pause: 128 ms,
  DOUBLINGS_AT_WORK = 4,   // or 8 ms, where the next look is to see threads that have come to rest
  STOPPING_NS = 200000,    // less than this may always be the cost of stopping and continuing
  PART = 4,                // more of the pause than one in so many is work
  MOST_RUN_NS = 4000000,   // work that has gone on for so long is not the end of a loop,
  FEWEST_LOOKS = 9,        // unless the processor was taken from a thread while its time was counted
  MOST_WALL_NS = 800000000 // on a busy machine a thread may wait for a processor for long
};

int64_t rest_pause_ns(const struct rest *r) {
  const int most = r->parked ? DOUBLINGS : DOUBLINGS_AT_WORK;
  return (int64_t)FIRST_PAUSE_NS << (r->looks < most ? r->looks : most);
}

enum rest_state rest_look(struct rest *r, bool parked, bool still, int64_t run_ns, int64_t wall_ns) {
  const int64_t pause_ns = rest_pause_ns(r); // not what it became: a busy machine lengthens it and not the work
  r->looks++;
  r->run_ns += run_ns;
  r->wall_ns += wall_ns;
  r->least_run_ns = r->looks == 1 || run_ns < r->least_run_ns ? run_ns : r->least_run_ns;
  r->restless += !r->parked;
  r->restless_ns += r->parked ? 0 : run_ns;
  const bool rested = parked && r->parked && still;
  r->parked = parked;
  if (rested && (run_ns < STOPPING_NS || run_ns < pause_ns / PART))
    return REST_REACHED;
  // What every pause has at least is stopping and continuing.
  const int64_t worked_ns = r->run_ns - r->looks * r->least_run_ns;
  if (r->wall_ns >= MOST_WALL_NS || (r->looks >= FEWEST_LOOKS && worked_ns >= MOST_RUN_NS))
    return REST_REFUSED;
  return REST_NOT_YET;
}

int64_t rest_work_ns(const struct rest *r) {
  int64_t work_ns = r->restless_ns - r->restless * r->least_run_ns;
  return work_ns > 0 ? work_ns : 0;
}
