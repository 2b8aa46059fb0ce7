// SPDX-License-Identifier: Apache-2.0
#include "toolchain/lift/stream_table.h"

#include <stdint.h>

void stream_table_release(struct stream_table *t) {
  arena_release(&t->arena);
  *t = (struct stream_table){0};
}

void stream_table_begin(struct stream_table *t) {
  t->n_streams = RECORD_ENTRY_STREAM + 1;
  t->n_events = 0;
}

static bool is_of_library(const struct stream_table *t, CUstream stream) {
  for (size_t i = 0; i < t->n_of_libraries; i++)
    if (t->of_libraries[i] == stream)
      return true;
  return false;
}

uint32_t stream_table_stream(struct stream_table *t, CUstream stream, const struct lift_driver *d,
                             struct log_writer *w) {
  enum { LEGACY = 1, PER_THREAD = 2 }; // CU_STREAM_LEGACY, CU_STREAM_PER_THREAD
  unsigned int flags = 0;
  uintptr_t handle = (uintptr_t)stream;
  if (handle <= LEGACY)
    return RECORD_DEFAULT_STREAM;
  for (uint32_t i = RECORD_ENTRY_STREAM + 1; i < t->n_streams; i++)
    if (t->streams[i] == stream)
      return i;
  if (t->n_streams >= RECORD_MAX_STREAMS) {
    log_writer_refuse(w, "it uses more than %d streams", RECORD_MAX_STREAMS - 2);
    return RECORD_DEFAULT_STREAM;
  }
  // The stream of a thread is ordered with the default stream.
  if (handle > PER_THREAD && d->cuStreamGetFlags)
    (void)d->cuStreamGetFlags(stream, &flags);
  const struct record_stream e = {
      .stream = t->n_streams, .non_blocking = flags & CU_STREAM_NON_BLOCKING, .of_library = is_of_library(t, stream)};
  t->streams[t->n_streams] = stream;
  log_writer_put(w, RECORD_STREAM, &e, sizeof e);
  return t->n_streams++;
}

uint32_t stream_table_event(struct stream_table *t, CUevent event, struct log_writer *w) {
  for (uint32_t i = 0; i < t->n_events; i++)
    if (t->events[i] == event)
      return i;
  if (t->n_events == RECORD_MAX_EVENTS) {
    log_writer_refuse(w, "it uses more than %d events", RECORD_MAX_EVENTS);
    return 0;
  }
  t->events[t->n_events] = event;
  return t->n_events++;
}

// What the driver does not say is taken for a capture.
static bool is_capturing(CUstream stream, const struct lift_driver *d) {
  int status = 0;
  return d->cuStreamIsCapturing && (d->cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS || status);
}

// A capture may end in many ways: the driver knows.
static void forget_ended(struct stream_table *t, const struct lift_driver *d) {
  for (uint32_t i = 0; i < t->n_captures;)
    if (is_capturing(t->captures[i], d))
      i++;
    else
      t->captures[i] = t->captures[--t->n_captures];
}

void stream_table_capture(struct stream_table *t, CUstream stream, const struct lift_driver *d) {
  forget_ended(t, d);
  if (t->n_captures < RECORD_MAX_STREAMS)
    t->captures[t->n_captures++] = stream;
}

bool stream_table_is_capturing(struct stream_table *t, CUstream stream, const struct lift_driver *d) {
  forget_ended(t, d);
  return t->n_captures > 0 || is_capturing(stream, d);
}

void stream_table_made(struct stream_table *t, CUstream stream, enum plan_origin origin) {
  stream_table_gone(t, stream); // a handle that is used again
  if (origin != PLAN_LIBRARY)
    return;
  if (t->n_of_libraries == t->capacity) {
    void *more = arena_grow(&t->arena, t->of_libraries, t->n_of_libraries, &t->capacity, sizeof *t->of_libraries);
    if (!more)
      return;
    t->of_libraries = more;
  }
  t->of_libraries[t->n_of_libraries++] = stream;
}

void stream_table_gone(struct stream_table *t, CUstream stream) {
  for (size_t i = 0; i < t->n_of_libraries; i++)
    if (t->of_libraries[i] == stream)
      t->of_libraries[i--] = t->of_libraries[--t->n_of_libraries];
  for (uint32_t i = 0; i < t->n_captures; i++)
    if (t->captures[i] == stream)
      t->captures[i--] = t->captures[--t->n_captures];
}
