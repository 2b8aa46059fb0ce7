// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

void buf_init(struct buf *b) {
  memset(b, 0, sizeof *b);
}

void buf_release(struct buf *b) {
  base_free(b->data);
  buf_init(b);
}

void buf_clear(struct buf *b) {
  b->len = 0;
  b->failed = false;
  if (b->data)
    b->data[0] = '\0';
}

static bool buf_reserve(struct buf *b, size_t more) {
  if (b->failed || more >= SIZE_MAX / 2 - b->len) {
    b->failed = true;
    return false;
  }
  size_t need = b->len + more + 1;
  if (need <= b->capacity)
    return true;
  size_t capacity = b->capacity * 2 > need ? b->capacity * 2 : need + 64;
  char *p = base_realloc(b->data, capacity);
  if (!p) {
    b->failed = true;
    return false;
  }
  b->data = p;
  b->capacity = capacity;
  return true;
}

void buf_append(struct buf *b, const void *bytes, size_t n) {
  if (!buf_reserve(b, n))
    return;
  if (n)
    memcpy(b->data + b->len, bytes, n);
  b->len += n;
  b->data[b->len] = '\0';
}

// Into the room that there is, and once more where that was too little.
void buf_vprintf(struct buf *b, const char *fmt, va_list arguments) {
  const size_t room = b->data && !b->failed ? b->capacity - b->len : 0;
  va_list again;
  va_copy(again, arguments);
  int n = vsnprintf(room ? b->data + b->len : NULL, room, fmt, arguments);
  if (n >= 0 && (size_t)n < room) {
    b->len += (size_t)n;
  } else {
    if (room)
      b->data[b->len] = '\0';
    if (n >= 0 && buf_reserve(b, (size_t)n)) {
      vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
      b->len += (size_t)n;
    }
  }
  va_end(again);
}

void buf_printf(struct buf *b, const char *fmt, ...) {
  va_list arguments;
  va_start(arguments, fmt);
  buf_vprintf(b, fmt, arguments);
  va_end(arguments);
}

enum assay_status buf_status(const struct buf *b, struct assay_error *err) {
  return b->failed ? error_nomem(err, "output text") : ASSAY_OK;
}

const char *buf_str(const struct buf *b) {
  return b->data ? b->data : "";
}
