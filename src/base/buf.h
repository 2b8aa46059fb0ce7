// SPDX-License-Identifier: Apache-2.0
// A growing byte string for output. Failure to grow is sticky: append as much as you like, check once at the end.
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"

struct buf {
  char *data; // NUL-terminated once anything was appended; NULL before
  size_t len;
  size_t capacity;
  bool failed; // an append found no memory; the content is incomplete
};

void buf_init(struct buf *b);
void buf_release(struct buf *b);
void buf_clear(struct buf *b); // forgets the content, keeps the memory
void buf_append(struct buf *b, const void *bytes, size_t n);
void buf_printf(struct buf *b, const char *fmt, ...) ASSAY_PRINTF(2, 3);
void buf_vprintf(struct buf *b, const char *fmt, va_list arguments) ASSAY_PRINTF(2, 0);

// Here, so that compilers know the lengths of literals, and mostly need no call.
static inline void buf_puts(struct buf *b, const char *s) {
  const size_t n = strlen(s);
  if (n >= b->capacity - b->len || b->failed) {
    buf_append(b, s, n);
    return;
  }
  memcpy(b->data + b->len, s, n + 1);
  b->len += n;
}

// ASSAY_OK, or ASSAY_ERR_NOMEM if any append failed.
enum assay_status buf_status(const struct buf *b, struct assay_error *err);

// The content as a C string; "" when empty. Borrowed until the next append.
const char *buf_str(const struct buf *b);

#endif
