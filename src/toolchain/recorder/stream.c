// SPDX-License-Identifier: Apache-2.0
// Streams and events: numbers in the log, where the reader finds out what waits for what.
#include "toolchain/recorder/recorder.h"

static uint32_t add_stream(bool non_blocking) {
  if (recorder.n_streams == RECORD_MAX_STREAMS)
    refuse("it makes more than %d streams: a plan runs in one, so one is enough", RECORD_MAX_STREAMS - 2);
  struct record_stream e = {recorder.n_streams, non_blocking, 0, 0};
  recorder.streams[recorder.n_streams++] = (struct stream){true, non_blocking};
  LOG(RECORD_STREAM, e);
  return e.stream;
}

// Streams are given out as addresses of their places here; 0, 1 and 2 are CUDA's names for default streams.
uint32_t stream_of(const void *handle) {
  enum { LEGACY = 1, PER_THREAD = 2 };
  uintptr_t h = (uintptr_t)handle, first = (uintptr_t)recorder.streams;
  if (h <= LEGACY)
    return RECORD_DEFAULT_STREAM;
  if (h == PER_THREAD) {
    if (!recorder.thread_stream)
      recorder.thread_stream = add_stream(false);
    return recorder.thread_stream;
  }
  uintptr_t index = (h - first) / sizeof *recorder.streams;
  if (h < first || (h - first) % sizeof *recorder.streams || index >= recorder.n_streams ||
      !recorder.streams[index].alive)
    refuse("host code uses a stream that is not there (%p): streams come from the entry's argument and from "
           "cudaStreamCreate, and are gone after cudaStreamDestroy",
           handle);
  return (uint32_t)index;
}

static uint32_t event_of(const void *handle) {
  uintptr_t h = (uintptr_t)handle, first = (uintptr_t)recorder.events;
  uintptr_t index = (h - first) / sizeof *recorder.events;
  if (h < first || index >= recorder.n_events || !recorder.events[index].alive)
    refuse("host code uses an event that is not there (%p)", handle);
  return (uint32_t)index;
}

EXPORT(int, cudaStreamCreateWithPriority, void **out, unsigned flags, int priority) {
  (void)priority;
  *out = &recorder.streams[add_stream(flags & 1)];
  return CUDA_OK;
}

EXPORT(int, cudaStreamCreateWithFlags, void **out, unsigned flags) {
  return cudaStreamCreateWithPriority(out, flags, 0);
}

EXPORT(int, cudaStreamCreate, void **out) {
  return cudaStreamCreateWithPriority(out, 0, 0);
}

EXPORT(int, cudaStreamDestroy, void *stream) {
  uint32_t s = stream_of(stream);
  if (s <= RECORD_ENTRY_STREAM)
    refuse("cudaStreamDestroy of a stream that host code did not make");
  recorder.streams[s].alive = false;
  return CUDA_OK;
}

EXPORT(int, cudaStreamSynchronize, void *stream) {
  struct record_host_wait e = {RECORD_AWAIT_STREAM, stream_of(stream)};
  LOG(RECORD_HOST_WAIT, e);
  return CUDA_OK;
}

// "All done": as true as if host code had waited.
EXPORT(int, cudaStreamQuery, void *stream) {
  return cudaStreamSynchronize(stream);
}

EXPORT(int, cudaDeviceSynchronize, void) {
  struct record_host_wait e = {RECORD_AWAIT_DEVICE, 0};
  LOG(RECORD_HOST_WAIT, e);
  return CUDA_OK;
}

EXPORT(int, cudaStreamGetFlags, void *stream, unsigned *flags) {
  *flags = recorder.streams[stream_of(stream)].non_blocking;
  return CUDA_OK;
}

EXPORT(int, cudaStreamGetPriority, void *stream, int *priority) {
  (void)stream_of(stream);
  *priority = 0;
  return CUDA_OK;
}

EXPORT(int, cudaStreamGetDevice, void *stream, int *device) {
  (void)stream_of(stream);
  *device = 0;
  return CUDA_OK;
}

EXPORT(int, cudaStreamIsCapturing, void *stream, int *status) {
  (void)stream_of(stream);
  *status = 0; // never: cudaStreamBeginCapture is refused
  return CUDA_OK;
}

EXPORT(int, cudaStreamGetCaptureInfo, void *stream, int *status) { // the other results are set while capturing only
  return cudaStreamIsCapturing(stream, status);
}

// Windows of the second-level cache and the like: advice.
EXPORT(int, cudaStreamSetAttribute, void *stream, int attribute, const void *value) {
  (void)attribute, (void)value;
  (void)stream_of(stream);
  return CUDA_OK;
}

EXPORT(int, cudaStreamWaitEvent, void *stream, void *event, unsigned flags) {
  struct record_wait e = {.event = event_of(event), .stream = stream_of(stream)};
  (void)flags;
  LOG(RECORD_WAIT, e);
  return CUDA_OK;
}

EXPORT(int, cudaEventCreateWithFlags, void **out, unsigned flags) {
  (void)flags;
  if (recorder.n_events == RECORD_MAX_EVENTS)
    refuse("it makes more than %d events", RECORD_MAX_EVENTS);
  recorder.events[recorder.n_events].alive = true;
  *out = &recorder.events[recorder.n_events++];
  return CUDA_OK;
}

EXPORT(int, cudaEventCreate, void **out) {
  return cudaEventCreateWithFlags(out, 0);
}

EXPORT(int, cudaEventDestroy, void *event) {
  recorder.events[event_of(event)].alive = false;
  return CUDA_OK;
}

EXPORT(int, cudaEventRecordWithFlags, void *event, void *stream, unsigned flags) {
  struct record_wait e = {.event = event_of(event), .stream = stream_of(stream)};
  (void)flags;
  LOG(RECORD_EVENT, e);
  return CUDA_OK;
}

EXPORT(int, cudaEventRecord, void *event, void *stream) {
  return cudaEventRecordWithFlags(event, stream, 0);
}

EXPORT(int, cudaEventSynchronize, void *event) {
  struct record_host_wait e = {RECORD_AWAIT_EVENT, event_of(event)};
  LOG(RECORD_HOST_WAIT, e);
  return CUDA_OK;
}

EXPORT(int, cudaEventQuery, void *event) {
  return cudaEventSynchronize(event);
}

EXPORT(int, cudaEventElapsedTime, float *ms, void *start, void *end) {
  (void)ms, (void)start, (void)end;
  refuse("cudaEventElapsedTime cannot be recorded: nothing runs while host code is recorded, so there is no time to "
         "tell; choose between kernels by shape, or hand in one candidate for each choice");
}
