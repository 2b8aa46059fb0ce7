// SPDX-License-Identifier: Apache-2.0
// Vector clocks over streams and events.
#include "toolchain/record/order.h"

#include <string.h>

static void join(struct record_clock *c, const struct record_clock *other) {
  for (int i = 0; i < RECORD_MAX_STREAMS; i++)
    if (c->number[i] < other->number[i])
      c->number[i] = other->number[i];
}

static bool known(const struct record_order *o, uint32_t stream) {
  return stream < (uint32_t)o->n_streams;
}

void order_init(struct record_order *o, struct arena *arena) {
  memset(o, 0, sizeof *o);
  o->arena = arena;
  o->n_streams = RECORD_ENTRY_STREAM + 1;
}

bool order_add_stream(struct record_order *o, uint32_t stream, bool non_blocking) {
  if (stream != (uint32_t)o->n_streams || stream >= RECORD_MAX_STREAMS)
    return false;
  o->non_blocking[stream] = non_blocking;
  o->n_streams++;
  return true;
}

// What the stream waits for before anything that is put into it now.
static void catch_up(struct record_order *o, uint32_t stream) {
  struct record_clock *c = &o->stream[stream];
  join(c, &o->host);
  if (stream == RECORD_DEFAULT_STREAM) {
    for (int s = 1; s < o->n_streams; s++)
      if (!o->non_blocking[s])
        join(c, &o->stream[s]);
  } else if (!o->non_blocking[stream]) {
    join(c, &o->stream[RECORD_DEFAULT_STREAM]);
  }
}

bool order_work(struct record_order *o, uint32_t stream, struct record_stamp *out) {
  if (!known(o, stream))
    return false;
  catch_up(o, stream);
  *out = (struct record_stamp){stream, ++o->stream[stream].number[stream]};
  return true;
}

bool order_record(struct record_order *o, uint32_t event, uint32_t stream) {
  if (!known(o, stream) || event >= RECORD_MAX_EVENTS)
    return false;
  if (!o->events[event] && !(o->events[event] = arena_calloc(o->arena, 1, sizeof **o->events)))
    return false;
  catch_up(o, stream);
  *o->events[event] = o->stream[stream];
  return true;
}

bool order_wait(struct record_order *o, uint32_t stream, uint32_t event) {
  if (!known(o, stream) || event >= RECORD_MAX_EVENTS)
    return false;
  if (o->events[event])
    join(&o->stream[stream], o->events[event]);
  return true;
}

bool order_host_wait(struct record_order *o, uint32_t what, uint32_t id) {
  if (what == RECORD_AWAIT_DEVICE) {
    for (int s = 0; s < o->n_streams; s++)
      join(&o->host, &o->stream[s]);
  } else if (what == RECORD_AWAIT_STREAM) {
    if (!known(o, id))
      return false;
    catch_up(o, id);
    join(&o->host, &o->stream[id]);
  } else if (what == RECORD_AWAIT_EVENT) {
    if (id >= RECORD_MAX_EVENTS)
      return false;
    if (o->events[id])
      join(&o->host, o->events[id]);
  } else {
    return false;
  }
  return true;
}

bool order_before(const struct record_order *o, struct record_stamp earlier, struct record_stamp last) {
  return o->stream[last.stream].number[earlier.stream] >= earlier.number;
}

void order_end(struct record_order *o) {
  catch_up(o, RECORD_ENTRY_STREAM);
}

bool order_ended(const struct record_order *o, struct record_stamp work) {
  return o->stream[RECORD_ENTRY_STREAM].number[work.stream] >= work.number;
}
