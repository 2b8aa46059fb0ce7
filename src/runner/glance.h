// A look at the outputs in the moment in which the kernel says that it is done.
//
// Whoever finds the control page can say so early, and has until the process is frozen to finish: some microseconds, or
// a scheduler's tick on a busy machine. A few words of the outputs, at places that nobody could foresee, are noted at
// once; none of them may be different when everything stands still.
#ifndef RUNNER_GLANCE_H
#define RUNNER_GLANCE_H

#include "runner/buffers.h"

enum { GLANCE_SPOTS = 64 };

struct glance {
  int n;
  struct {
    const unsigned char *at;
    uint32_t seen;
  } spots[GLANCE_SPOTS];
};

// The seed must not be known to the kernel's process.
void glance_take(struct glance *g, const struct buffer *outputs, int n_out, uint64_t seed);
bool glance_holds(const struct glance *g);

#endif
