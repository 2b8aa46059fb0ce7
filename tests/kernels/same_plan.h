// SPDX-License-Identifier: Apache-2.0
// Whether two plans do the same work.
#ifndef KERNELS_SAME_PLAN_H
#define KERNELS_SAME_PLAN_H

#include "plan/plan.h"

// The same steps in the same order: kernels, sizes of launches, arguments, places, values. Buffers of the task are the
// same by their roles, scratch and constants by where they are used; they have the same size then, and constants the
// same bytes. What is not compared: the modules' code, names of buffers, and which of its own calls made a step.
// *what says what differs first.
bool same_plan(const struct plan *a, const struct plan *b, char *what, size_t size);

#endif
