// Private to src/toolchain: whether two recordings of one program are one plan.
#ifndef TOOLCHAIN_PLAN_DIFFERENCE_H
#define TOOLCHAIN_PLAN_DIFFERENCE_H

#include "plan/plan.h"

// Whether the plans differ in anything but names and what memory held before the recording (buffers called
// "state N"); if so, the first difference as text: "step 3 is scale<<<2>>> and not scale<<<1>>>".
bool plan_difference(const struct plan *a, const struct plan *b, char *text, size_t size);

#endif
