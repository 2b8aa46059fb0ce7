// SPDX-License-Identifier: Apache-2.0
// Private to src/toolchain: whether two recordings of one program are one plan, and which.
#ifndef TOOLCHAIN_RECORD_DIFFERENCE_H
#define TOOLCHAIN_RECORD_DIFFERENCE_H

#include "plan/plan.h"

// Whether a struct that a launch gets has a pointer that no plan can hold, in both recordings: by as many bytes beyond
// the same memory, or the same address of memory that nobody saw being allocated. What is wrong goes to `text`. Before
// plan_difference.
bool plan_points_outside(const struct plan *a, const struct plan *b, char *text, size_t size);

// Whether the plans differ in anything but names and what memory held before the recording (buffers called
// "state N"); if so, the first difference as text: "step 3 is scale<<<2>>> and not scale<<<1>>>".
//
// Compilers leave gaps in structs, and what the stack held stands in them: an argument that is an empty functor has one
// such byte, one with a number after a functor three. So bytes of arguments that are not plain numbers (of 2, 4 or 8
// bytes) may differ, and so may what is a pointer there in one recording only. Those bytes become 0 in `a`, and
// `unsettled` counts them: should a kernel use them, then the plan holds neither recording's value, and whoever
// compares its outputs sees it.
//
// Numbers can look like addresses: two of 32 bits side by side do. Addresses are others in the second recording, as its
// memory is; so a word that is the same in both, and is not the same place in both, is numbers. A doubt (plan_doubt) is
// numbers or a leftover.
bool plan_difference(struct plan *a, const struct plan *b, char *text, size_t size);

#endif
