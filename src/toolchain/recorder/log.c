// SPDX-License-Identifier: Apache-2.0
// Writing the log, and giving up.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "toolchain/recorder/recorder.h"

struct recorder recorder;

_Noreturn void refuse(const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  vsnprintf(recorder.log->message, sizeof recorder.log->message, fmt, args);
  va_end(args);
  recorder.log->stage = RECORD_REFUSED;
  fflush(NULL); // what host code printed may explain it
  _exit(0);
}

void log_entry(enum record_kind kind, const void *fixed, size_t fixed_bytes, struct part a, struct part b) {
  uint64_t room = RECORD_LOG_BYTES - sizeof *recorder.log - recorder.log->used;
  size_t bytes = fixed_bytes + a.n + b.n;
  if (a.n > room || b.n > room || bytes + sizeof(struct record_entry) + 8 > room)
    refuse("the recording is larger than %d MiB: make large tables in a kernel, not on the host",
           (int)(RECORD_LOG_BYTES >> 20));
  struct record_entry head = {kind, (uint32_t)bytes};
  uint8_t *to = (uint8_t *)(recorder.log + 1) + recorder.log->used;
  memcpy(to, &head, sizeof head);
  to += sizeof head;
  const struct part parts[] = {{fixed, fixed_bytes}, a, b};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (parts[i].n)
      memcpy(to, parts[i].bytes, parts[i].n);
    to += parts[i].n;
  }
  // Only now, for reading host memory may have been the candidate's mistake.
  recorder.log->used += sizeof head + (bytes + 7) / 8 * 8;
}

int fail(enum cuda_error e) {
  if (e != CUDA_OK)
    recorder.last_error = e;
  return e;
}

void *add_to_list(void *list, size_t *n, size_t element_bytes) {
  void **pointers = realloc(list, (*n + 1) * sizeof *pointers);
  void *element = calloc(1, element_bytes);
  if (!pointers || !element)
    refuse("host code left no memory for the recorder");
  pointers[(*n)++] = element;
  return pointers;
}
