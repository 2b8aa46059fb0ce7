// SPDX-License-Identifier: Apache-2.0
// Streams and events of a recording, by their numbers in the log, which streams libraries made for themselves, and
// where graphs are captured.
#ifndef TOOLCHAIN_LIFT_STREAM_TABLE_H
#define TOOLCHAIN_LIFT_STREAM_TABLE_H

#include "base/arena.h"
#include "plan/subject.h"
#include "toolchain/lift/driver.h"
#include "toolchain/lift/log_writer.h"

struct stream_table {
  CUstream streams[RECORD_MAX_STREAMS]; // 2, 3, ...
  uint32_t n_streams;
  CUevent events[RECORD_MAX_EVENTS];
  uint32_t n_events;
  CUstream *of_libraries;
  size_t n_of_libraries, capacity;
  CUstream captures[RECORD_MAX_STREAMS]; // where a capture began, and has not been seen to have ended
  uint32_t n_captures;
  struct arena arena;
};

void stream_table_release(struct stream_table *t);
void stream_table_begin(struct stream_table *t); // another log

// Numbers in the log. A stream's entry is written the first time. Where there are too many, the recording is refused.
uint32_t stream_table_stream(struct stream_table *t, CUstream stream, const struct lift_driver *d,
                             struct log_writer *w);
uint32_t stream_table_event(struct stream_table *t, CUevent event, struct log_writer *w);

// A capture began on this stream. Whether one goes on there, or on any other stream: then nobody may wait for the
// device.
void stream_table_capture(struct stream_table *t, CUstream stream, const struct lift_driver *d);
bool stream_table_is_capturing(struct stream_table *t, CUstream stream, const struct lift_driver *d);

// A stream that this origin made, and one that is destroyed. They are known between recordings too.
void stream_table_made(struct stream_table *t, CUstream stream, enum plan_origin origin);
void stream_table_gone(struct stream_table *t, CUstream stream);

#endif
