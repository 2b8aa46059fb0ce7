// SPDX-License-Identifier: Apache-2.0
// Whose call it is: the first file on the stack that is not a part of CUDA's own launching.
#ifndef TOOLCHAIN_LIFT_CALLER_H
#define TOOLCHAIN_LIFT_CALLER_H

#include "plan/subject.h"

struct caller {
  enum plan_origin origin;
  char object[96]; // its file name
};

// Of this thread's stack, as it is now.
void caller_of_this(struct caller *out);
// The same for a launch of the kernel of this name. What torch.compile made for the candidate is the candidate's own,
// though one of PyTorch's files launches it.
void caller_of_launch(const char *kernel, struct caller *out);

#endif
