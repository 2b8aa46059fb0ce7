// SPDX-License-Identifier: Apache-2.0
// For tests: reads what the writer of HTML (src/report/html.h) wrote, as a parser of HTML does, but strictly: abort()
// at anything that the writer has no business to write. Out comes a log, one line an event, which a test compares with
// the log of what it asked for:
//   <p   >p   @class=a b   "text"   (with \n, \r, \t, \\ and the log's quotes written as such)
#ifndef SUPPORT_HTML_READ_H
#define SUPPORT_HTML_READ_H

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

// What a reader is shown of a text, by a decoder of its own.
static inline void html_expected(const char *s, size_t n, struct buf *out) {
  static const struct {
    unsigned char low, high, mask;
    size_t len;
    unsigned least;
  } forms[] = {{0x00, 0x7F, 0x7F, 1, 0},
               {0xC0, 0xDF, 0x1F, 2, 0x80},
               {0xE0, 0xEF, 0x0F, 3, 0x800},
               {0xF0, 0xF7, 0x07, 4, 0x10000}};
  size_t i = 0;
  while (i < n) {
    unsigned char b = (unsigned char)s[i];
    unsigned c = 0;
    size_t len = 0;
    for (int f = 0; f < 4; f++)
      if (b >= forms[f].low && b <= forms[f].high && i + forms[f].len <= n) {
        bool good = true;
        c = b & forms[f].mask;
        for (size_t k = 1; k < forms[f].len; k++) {
          good = good && ((unsigned char)s[i + k] & 0xC0) == 0x80;
          c = c << 6 | ((unsigned char)s[i + k] & 0x3F);
        }
        if (good && c >= forms[f].least && c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF))
          len = forms[f].len;
      }
    if (len == 1 && c == '\r' && i + 1 < n && s[i + 1] == '\n')
      ; // left out
    else if (len == 0 || (c < 32 && c != 9 && c != 10) || (c >= 127 && c < 160) || c == 0xFFFE || c == 0xFFFF)
      buf_puts(out, "\xEF\xBF\xBD");
    else if (c == 0xAD || c == 0x34F || c == 0x61C || c == 0x115F || c == 0x1160 || c == 0x17B4 || c == 0x17B5 ||
             (c >= 0x180B && c <= 0x180F) || (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
             (c >= 0x2060 && c <= 0x206F) || c == 0x3164 || (c >= 0xFE00 && c <= 0xFE0F) || c == 0xFEFF ||
             c == 0xFFA0 || (c >= 0xFFF0 && c <= 0xFFFB) || (c >= 0x1BCA0 && c <= 0x1BCA3) ||
             (c >= 0x1D173 && c <= 0x1D17A) || (c >= 0xE0000 && c <= 0xE0FFF))
      buf_printf(out, "[U+%04X]", c);
    else
      buf_append(out, s + i, len);
    i += len ? len : 1;
  }
}

static inline void html_check(bool good) {
  if (!good)
    abort();
}

// One character of text or of a value at *at, decoded.
static inline void html_read_character(const char **at, struct buf *out) {
  static const char *const references[][2] = {
      {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}};
  if (**at != '&') {
    html_check(!strchr("<>\"'", **at));
    buf_append(out, (*at)++, 1);
    return;
  }
  for (int r = 0; r < 5; r++)
    if (strncmp(*at, references[r][0], strlen(references[r][0])) == 0) {
      buf_puts(out, references[r][1]);
      *at += strlen(references[r][0]);
      return;
    }
  abort();
}

static inline const char *html_read_name(const char *at, struct buf *out) {
  size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");
  html_check(n > 0);
  buf_append(out, at, n);
  return at + n;
}

// Reads a piece of HTML that ends at a NUL. Adjoining texts are one event.
static inline void html_read(const char *at, struct buf *log) {
  struct buf text = {0};
  if (strncmp(at, "<!doctype html>\n", 16) == 0)
    at += 16;
  while (*at) {
    if (*at != '<') {
      html_read_character(&at, &text);
      continue;
    }
    if (text.len)
      buf_printf(log, "\"%s\"\n", buf_str(&text));
    buf_clear(&text);
    bool closes = at[1] == '/';
    at += closes ? 2 : 1;
    size_t begin = log->len;
    buf_puts(log, closes ? ">" : "<");
    at = html_read_name(at, log);
    buf_puts(log, "\n");
    bool pre = !closes && strcmp(log->data + begin, "<pre\n") == 0;
    while (*at == ' ') {
      html_check(!closes);
      buf_puts(log, "@");
      at = html_read_name(at + 1, log);
      html_check(at[0] == '=' && at[1] == '"');
      buf_puts(log, "=");
      for (at += 2; *at != '"';) {
        html_check(*at);
        html_read_character(&at, log);
      }
      buf_puts(log, "\n");
      at++;
    }
    if (at[0] == '/' && !closes) { // of a drawing (src/draw): it has no content
      size_t n = strcspn(log->data + begin + 1, "\n");
      char name[32] = "";
      html_check(n < sizeof name);
      memcpy(name, log->data + begin + 1, n);
      buf_printf(log, ">%s\n", name);
      at++;
    }
    html_check(*at++ == '>');
    at += pre && *at == '\n';
  }
  if (text.len)
    buf_printf(log, "\"%s\"\n", buf_str(&text));
  buf_release(&text);
}

#endif
