// SPDX-License-Identifier: Apache-2.0
// Private to src/toolchain: which recorded work is ordered before which, by streams and events.
//
// Vector clocks. Every piece of work has a stamp, its stream and its number in it. A stream's clock says, for every
// stream, up to which number that stream's work is ordered before whatever this stream does next: its own work is, an
// event that it waits for brings the clock that the event's stream had, host code that waited passes on what it waited
// for, and the legacy default stream waits for all blocking streams and they for it (CUDA C++ Programming Guide,
// "Implicit Synchronization").
#ifndef TOOLCHAIN_RECORD_ORDER_H
#define TOOLCHAIN_RECORD_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "toolchain/record/format.h"

struct record_clock {
  uint32_t number[RECORD_MAX_STREAMS];
};

struct record_stamp {
  uint32_t stream, number; // numbers begin with 1; 0: no work
};

struct record_order {
  struct arena *arena;
  int n_streams;
  bool non_blocking[RECORD_MAX_STREAMS];
  struct record_clock stream[RECORD_MAX_STREAMS];
  struct record_clock host;
  struct record_clock *events[RECORD_MAX_EVENTS]; // NULL: never recorded
};

// With the two streams that are always there. The arena must outlive it.
void order_init(struct record_order *o, struct arena *arena);

// The functions below take numbers from the log: false for a stream or an event that cannot be, and when there are too
// many, or memory fails.
bool order_add_stream(struct record_order *o, uint32_t stream, bool non_blocking);
bool order_work(struct record_order *o, uint32_t stream, struct record_stamp *out);
bool order_record(struct record_order *o, uint32_t event, uint32_t stream);
bool order_wait(struct record_order *o, uint32_t stream,
                uint32_t event); // an event never recorded: nothing to wait for
bool order_host_wait(struct record_order *o, uint32_t what, uint32_t id);

// Whether that work is ordered before this work, which was the last on its stream.
bool order_before(const struct record_order *o, struct record_stamp earlier, struct record_stamp last);

// Whether that work is ordered before what the entry's caller puts into the entry's stream next. Call order_end first.
void order_end(struct record_order *o);
bool order_ended(const struct record_order *o, struct record_stamp work);

#endif
