// SPDX-License-Identifier: Apache-2.0
// What a candidate finds in memory of its own that it never wrote. A fresh process has zeros there, and whoever counts
// on them is right by chance. Other programs have what was left.
#ifndef RUNNER_RESIDUE_H
#define RUNNER_RESIDUE_H

// From here on blocks of the allocator hold numbers when they are new, and the caller's stack below its frame does now:
// by `round` NaN, ordinary or large ones.
void residue_leave(unsigned round);

// The same of the stack of another thread, which calls this.
void residue_leave_on_stack(unsigned round);

// Blocks hold again what they happen to.
void residue_end(void);

#endif
