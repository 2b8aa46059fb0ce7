// SPDX-License-Identifier: Apache-2.0
#include "model/sse.h"

#include <string.h>

static bool dispatch(struct sse *s, sse_event *on_event, void *arg) {
  bool go_on = true;
  if (s->data.len > 0) // an event without data is none
    go_on = on_event(arg, buf_str(&s->event), buf_str(&s->data), s->data.len);
  buf_clear(&s->data);
  buf_clear(&s->event);
  s->has_data = false;
  return go_on;
}

static void take_field(struct sse *s, const char *line, size_t n) {
  const char *colon = memchr(line, ':', n);
  size_t name = colon ? (size_t)(colon - line) : n;
  const char *value = colon ? colon + 1 : line + n;
  if (value < line + n && *value == ' ')
    value++;
  size_t len = (size_t)(line + n - value);
  if (name == 4 && memcmp(line, "data", 4) == 0) {
    if (s->has_data)
      buf_puts(&s->data, "\n");
    buf_append(&s->data, value, len);
    s->has_data = true;
  } else if (name == 5 && memcmp(line, "event", 5) == 0) {
    buf_clear(&s->event);
    buf_append(&s->event, value, len);
  } // others, and comments, whose name is empty, say nothing to us
}

static bool end_line(struct sse *s, sse_event *on_event, void *arg) {
  static const char bom[] = "\xef\xbb\xbf";
  const char *line = buf_str(&s->line);
  size_t n = s->line.len;
  bool go_on = true;
  if (!s->begun && n >= 3 && memcmp(line, bom, 3) == 0) {
    line += 3;
    n -= 3;
  }
  s->begun = true;
  if (n == 0)
    go_on = dispatch(s, on_event, arg);
  else
    take_field(s, line, n);
  buf_clear(&s->line);
  return go_on;
}

bool sse_feed(struct sse *s, const char *bytes, size_t n, sse_event *on_event, void *arg) {
  for (size_t i = 0; i < n;) {
    if (s->after_cr && bytes[i] == '\n') {
      s->after_cr = false;
      i++;
      continue;
    }
    s->after_cr = false;
    size_t end = i;
    while (end < n && bytes[end] != '\n' && bytes[end] != '\r')
      end++;
    buf_append(&s->line, bytes + i, end - i);
    if (s->line.failed || s->data.failed || s->event.failed || s->line.len + s->data.len > SSE_MOST_EVENT_BYTES)
      return false;
    if (end == n)
      return true;
    s->after_cr = bytes[end] == '\r';
    i = end + 1;
    if (!end_line(s, on_event, arg))
      return false;
  }
  return true;
}

bool sse_left(const struct sse *s, const char *data) {
  const char *line = buf_str(&s->line);
  if (s->line.len == 0)
    return s->has_data && strcmp(buf_str(&s->data), data) == 0;
  if (s->has_data || strncmp(line, "data:", 5) != 0)
    return false;
  line += 5;
  return strcmp(line + (*line == ' '), data) == 0;
}

void sse_release(struct sse *s) {
  buf_release(&s->line);
  buf_release(&s->data);
  buf_release(&s->event);
}
