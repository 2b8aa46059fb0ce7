// SPDX-License-Identifier: Apache-2.0
// Server-sent events (WHATWG HTML, section 9.2): bytes in, in pieces of any size; events out.
#ifndef MODEL_SSE_H
#define MODEL_SSE_H

#include <stdbool.h>

#include "base/buf.h"

enum { SSE_MOST_EVENT_BYTES = 32 << 20 };

struct sse {
  struct buf line, data, event;
  bool after_cr, begun, has_data;
};

// Called for each event that has data; `event` is its name, "" without one; both live until it returns. Returns false
// to stop.
typedef bool sse_event(void *arg, const char *event, const char *data, size_t n);

// False when the callback stopped it, an event is too long, or there is no memory. An event without its blank line at
// the end of the stream is none.
bool sse_feed(struct sse *s, const char *bytes, size_t n, sse_event *on_event, void *arg);
// At the end of a stream: whether what is left is an event with this data whose blank line is missing.
bool sse_left(const struct sse *s, const char *data);
void sse_release(struct sse *s);

#endif
