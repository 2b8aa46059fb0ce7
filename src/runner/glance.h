// SPDX-License-Identifier: Apache-2.0
// Detects a kernel that reports "done" too early.
//
// A candidate that finds the control page can set the done flag early and then work on until its process is frozen: for
// some microseconds, or a scheduler's tick on a busy machine. So the judge samples a few words of the outputs, at
// random places, as soon as it sees the flag. None of them may differ once the process is frozen.
#ifndef RUNNER_GLANCE_H
#define RUNNER_GLANCE_H

#include "runner/buffers.h"

enum { GLANCE_SPOTS = 64 };

struct glance {
  int n;
  struct {
    const unsigned char *at;
    uint32_t seen;
    unsigned char bytes; // of it: four, or all where there are fewer
  } spots[GLANCE_SPOTS];
};

// The seed must not be known to the kernel's process.
void glance_take(struct glance *g, const struct buffer *outputs, int n_out, uint64_t seed);
bool glance_holds(const struct glance *g);

#endif
