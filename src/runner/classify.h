// SPDX-License-Identifier: Apache-2.0
// What the end of a runner means.
#ifndef RUNNER_CLASSIFY_H
#define RUNNER_CLASSIFY_H

#include "runner/buffers.h"
#include "sandbox/sandbox.h"

// From what the kernel says (end) and what the runner noted (hints; a copy) to an event. The hints only choose among
// failures: a candidate that forges them has failed all the same.
struct buffer_list {
  const struct buffer *items; // inputs, then outputs
  int n_in, n_out;
};
void classify_end(const struct runner_control *hints, const struct sandbox_end *end, const struct buffer_list *buffers,
                  bool late, bool loading, struct runner_report *report);

// An exception (RUNNER_RAISED with its message) that PyTorch made of an error of the GPU becomes that event: a kernel's
// fault, a launch that was refused, memory that is used up. Others stay.
void classify_raised(struct runner_report *report);

// A digest of a buffer's data, to see whether it changed.
uint64_t classify_digest(const struct buffer *b);

#endif
