// SPDX-License-Identifier: Apache-2.0
// Times every launch with a pair of events around it, and adds up whose kernels took how long.
#ifndef TOOLCHAIN_LIFT_KERNEL_TIMER_H
#define TOOLCHAIN_LIFT_KERNEL_TIMER_H

#include "base/arena.h"
#include "compute/cuda_driver.h"
#include "plan/subject.h"
#include "toolchain/record/format.h"

struct stopwatch {
  CUevent start, end;
  enum plan_origin origin;
};

struct kernel_timer {
  struct arena arena;
  struct stopwatch *watches;
  size_t n_watches, capacity;
  uint32_t launches[PLAN_ORIGINS];
};

void kernel_timer_release(struct kernel_timer *t);
void kernel_timer_reset(struct kernel_timer *t); // no launches yet
// Around a launch into this stream. What cannot be timed is left out.
void kernel_timer_start(struct kernel_timer *t, const struct cuda_driver *cu, enum plan_origin origin, CUstream stream);
void kernel_timer_stop(struct kernel_timer *t, const struct cuda_driver *cu, CUstream stream);
// The sums, when the device is idle; every stopwatch is given back.
void kernel_timer_collect(struct kernel_timer *t, const struct cuda_driver *cu,
                          struct record_share shares[PLAN_ORIGINS]);

#endif
