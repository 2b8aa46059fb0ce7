// SPDX-License-Identifier: Apache-2.0
// modules: model
// What a server answers, streamed in pieces and whole: any bytes are a reply, a failure or an error with a message.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "model/sse.h"
#include "model/wire.h"

struct reading {
  const struct wire *wire;
  struct wire_reply reply;
};

static bool on_event(void *arg, const char *event, const char *data, size_t n) {
  struct reading *r = arg;
  return wire_take_event(r->wire, &r->reply, event, data, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const struct wire *const wires[] = {&wire_chat, &wire_messages, &wire_responses};
  size_t piece = size ? 1 + data[0] % 16 : 1;
  for (int i = 0; i < 3; i++) {
    struct reading streamed = {.wire = wires[i]}, whole = {.wire = wires[i]};
    struct sse sse = {0};
    bool more = true;
    for (size_t at = 0; at < size && more; at += piece)
      more = sse_feed(&sse, (const char *)data + at, size - at < piece ? size - at : piece, on_event, &streamed);
    wire_take_whole(wires[i], &whole.reply, (const char *)data, size);
    sse_release(&sse);
    buf_release(&streamed.reply.text);
    buf_release(&streamed.reply.called);
    buf_release(&whole.reply.text);
    buf_release(&whole.reply.called);
  }
  struct wire_error e;
  wire_read_error((const char *)data, size, &e);
  if (!e.message[0] && size > 0)
    __builtin_trap();
  return 0;
}
