// SPDX-License-Identifier: Apache-2.0
#include "model/join.h"

#include <stdbool.h>
#include <string.h>

// A shorter repetition may be chance, unless it is the whole of the line that was begun.
enum { LEAST_OVERLAP = 8, LEAST_LINE = 3, MOST_OVERLAP = 4096 };

struct fence_line {
  size_t begin, after; // of the line, and of the next one
  bool tagged;
};

static bool is_blank(const char *s, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!strchr(" \t\r\n", s[i]) || !s[i])
      return false;
  return true;
}

// The first line from `at` on that is a fence.
static bool find_fence(const char *s, size_t n, size_t at, struct fence_line *out) {
  while (at < n) {
    const char *newline = memchr(s + at, '\n', n - at);
    size_t end = newline ? (size_t)(newline - s) : n, i = at, marks = 0;
    while (i < end && (s[i] == ' ' || s[i] == '\t'))
      i++;
    while (i + marks < end && (s[i] == '`' || s[i] == '~') && s[i + marks] == s[i])
      marks++;
    if (marks >= 3) {
      *out = (struct fence_line){at, newline ? end + 1 : n, !is_blank(s + i + marks, end - i - marks)};
      return true;
    }
    at = end + 1;
  }
  return false;
}

// Where the rest begins: after a fence that opens the block once more.
static size_t begin_of(const char *rest, size_t n) {
  struct fence_line first, next;
  if (!find_fence(rest, n, 0, &first))
    return 0;
  bool opens = first.tagged || (is_blank(rest, first.begin) && find_fence(rest, n, first.after, &next));
  return opens ? first.after : 0;
}

static size_t overlap(const struct buf *text, const char *rest, size_t n) {
  const char *newline = text->len ? memrchr(text->data, '\n', text->len) : NULL;
  size_t line = newline ? text->len - (size_t)(newline + 1 - text->data) : text->len;
  size_t most = text->len < n ? text->len : n;
  for (size_t k = most < MOST_OVERLAP ? most : MOST_OVERLAP; k >= LEAST_LINE; k--)
    if ((k >= LEAST_OVERLAP || k == line) && memcmp(text->data + text->len - k, rest, k) == 0)
      return k;
  return 0;
}

enum assay_status model_join(struct buf *text, const char *rest, size_t n, struct assay_error *err) {
  size_t begin = begin_of(rest, n);
  begin += overlap(text, rest + begin, n - begin);
  buf_append(text, rest + begin, n - begin);
  return buf_status(text, err);
}
