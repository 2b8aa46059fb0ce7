// SPDX-License-Identifier: Apache-2.0
#include "base/limit.h"

enum { LEAST_PART = 64 }; // less than this part of the limit is not worth another wait

// A judge that shares its processors with others comes to look later than it wanted, but hardly by so much.
static const int64_t DELAY_NS = 2000000000;

int64_t limit_starved_ns(int64_t waited_ns, int64_t wall_ns, int64_t cpu_ns, int n_cpus) {
  int64_t left_ns = wall_ns - cpu_ns / n_cpus;
  int64_t starved_ns = waited_ns < left_ns ? waited_ns : left_ns;
  return starved_ns > 0 ? starved_ns : 0;
}

int64_t limit_stopped_ns(int64_t before_ns, int64_t now_ns, int64_t look_ns) {
  int64_t more_ns = now_ns - before_ns - look_ns;
  return more_ns > DELAY_NS ? more_ns : 0;
}

int64_t limit_last_ns(int64_t start_ns, int64_t limit_ns) {
  return limit_ns > (INT64_MAX - start_ns) / LIMIT_MOST ? INT64_MAX : start_ns + LIMIT_MOST * limit_ns;
}

int64_t limit_end_ns(int64_t start_ns, int64_t limit_ns, int64_t starved_ns, int64_t now_ns) {
  int64_t last_ns = limit_last_ns(start_ns, limit_ns);
  int64_t end_ns = starved_ns < last_ns - start_ns - limit_ns ? start_ns + limit_ns + starved_ns : last_ns;
  return end_ns > now_ns + limit_ns / LEAST_PART ? end_ns : now_ns;
}
