// SPDX-License-Identifier: Apache-2.0
// Time, as a number of nanoseconds.
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

int64_t clock_monotonic_ns(void); // CLOCK_MONOTONIC: for durations and deadlines
int64_t clock_wall_ns(void);      // CLOCK_REALTIME, nanoseconds since 1970: for records only

#endif
