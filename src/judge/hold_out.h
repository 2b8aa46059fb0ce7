// SPDX-License-Identifier: Apache-2.0
// What a judgement leaves for a later one, so that what is learned from its verdict is not all that counts: one probe
// and one kind of drawn shape, which follow from a number. What every exam rests on is always asked: zero means and
// scaled rows, and the shape at which probes are asked.
#ifndef JUDGE_HOLD_OUT_H
#define JUDGE_HOLD_OUT_H

#include "task/shapes.h"

// The probes of the task (a bit each) that are asked. All for 0, and where it has none that can be left out.
unsigned hold_out_probes(uint64_t number, unsigned probes);

// Whether shapes of this kind are left out. None for 0.
bool hold_out_shape(uint64_t number, enum shape_kind kind);

#endif
