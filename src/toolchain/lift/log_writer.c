// SPDX-License-Identifier: Apache-2.0
#include "toolchain/lift/log_writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ENTRY_ALIGNMENT = 8, MIB = 1 << 20 };
// Kept free for outputs and states while entries are written, and for shares at the end.
static const uint64_t FIRST_RESERVE = 1 << 20, LAST_RESERVE = 1 << 16;

void log_writer_release(struct log_writer *w) {
  buf_release(&w->outputs);
  buf_release(&w->states);
  buf_release(&w->body);
}

void log_writer_begin(struct log_writer *w) {
  w->refusal[0] = '\0';
  w->launched_last = false;
  buf_clear(&w->outputs);
  buf_clear(&w->states);
  buf_clear(&w->body);
}

void log_writer_refuse(struct log_writer *w, const char *fmt, ...) {
  va_list args;
  if (w->refusal[0])
    return;
  va_start(args, fmt);
  vsnprintf(w->refusal, sizeof w->refusal, fmt, args);
  va_end(args);
}

bool log_writer_refused(const struct log_writer *w) {
  return w->refusal[0] != '\0';
}

static void append(struct buf *b, enum record_kind kind, const void *fixed, size_t n, const void *payload,
                   size_t n_payload) {
  static const char zeros[ENTRY_ALIGNMENT];
  const size_t bytes = n + n_payload;
  const struct record_entry head = {.kind = kind, .bytes = (uint32_t)bytes};
  buf_append(b, &head, sizeof head);
  if (n)
    buf_append(b, fixed, n);
  if (n_payload)
    buf_append(b, payload, n_payload);
  buf_append(b, zeros, (ENTRY_ALIGNMENT - bytes % ENTRY_ALIGNMENT) % ENTRY_ALIGNMENT);
}

void log_writer_put(struct log_writer *w, enum record_kind kind, const void *fixed, size_t n) {
  log_writer_put_with(w, kind, fixed, n, NULL, 0);
}

void log_writer_put_with(struct log_writer *w, enum record_kind kind, const void *fixed, size_t n, const void *payload,
                         size_t n_payload) {
  if (log_writer_refused(w))
    return;
  if (n + n_payload + w->body.len > RECORD_LOG_BYTES - FIRST_RESERVE) {
    log_writer_refuse(w, "the recording is larger than %d MiB", (int)(RECORD_LOG_BYTES / MIB));
    return;
  }
  append(&w->body, kind, fixed, n, payload, n_payload);
  if (kind == RECORD_LAUNCH || kind == RECORD_FILL || kind == RECORD_COPY || kind == RECORD_UPLOAD)
    w->launched_last = kind == RECORD_LAUNCH;
}

void log_writer_output(struct log_writer *w, const struct record_output *e) {
  append(&w->outputs, RECORD_OUTPUT, e, sizeof *e, NULL, 0);
}

void log_writer_state(struct log_writer *w, const struct record_state *e, const void *content, size_t n) {
  append(&w->states, RECORD_STATE, e, sizeof *e, content, n);
}

void log_writer_finish(struct log_writer *w, struct record_header *to) {
  const struct buf *const parts[] = {&w->outputs, &w->states, &w->body};
  uint64_t room = RECORD_LOG_BYTES - sizeof *to - LAST_RESERVE, used = 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts && !log_writer_refused(w); i++) {
    if (parts[i]->failed || parts[i]->len > room - used) {
      log_writer_refuse(w, "the recording is larger than %d MiB, or memory is exhausted",
                        (int)(RECORD_LOG_BYTES / MIB));
    } else if (parts[i]->len) {
      memcpy((uint8_t *)(to + 1) + used, parts[i]->data, parts[i]->len);
      used += parts[i]->len;
    }
  }
  to->used = used;
  to->stage = log_writer_refused(w) ? RECORD_REFUSED : RECORD_RETURNED;
  snprintf(to->message, sizeof to->message, "%s", w->refusal);
  buf_release(&w->states); // copies of memory: large
}

void log_writer_share(struct record_header *log, const struct record_share *e) {
  const struct record_entry head = {.kind = RECORD_SHARE, .bytes = sizeof *e};
  uint8_t *to = (uint8_t *)(log + 1) + log->used;
  memcpy(to, &head, sizeof head);
  memcpy(to + sizeof head, e, sizeof *e);
  log->used += sizeof head + sizeof *e;
}
