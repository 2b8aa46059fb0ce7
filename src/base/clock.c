// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <time.h>

static int64_t read_ns(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_monotonic_ns(void) {
  return read_ns(CLOCK_MONOTONIC);
}
int64_t clock_wall_ns(void) {
  return read_ns(CLOCK_REALTIME);
}
