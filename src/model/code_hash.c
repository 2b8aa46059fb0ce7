// SPDX-License-Identifier: Apache-2.0
// The same code in another layout has the same hash.
#include <ctype.h>

#include "base/hash.h"
#include "base/remark.h"
#include "model/bare.h"

static void put_string(const char *code, size_t n, size_t *i, struct buf *out) {
  char quote = code[*i];
  size_t from = *i;
  for (++*i; *i < n && code[*i] != quote && code[*i] != '\n'; ++*i)
    *i += code[*i] == '\\' && *i + 1 < n;
  *i += *i < n;
  buf_append(out, code + from, *i - from);
}

// C: any white space is one space, but a preprocessor line keeps its end. Directive comments are code.
static void normalise_c(const char *code, size_t n, struct buf *out) {
  bool directive = false, space = false;
  for (size_t i = 0; i < n;) {
    char c = code[i];
    bool line_comment = c == '/' && i + 1 < n && code[i + 1] == '/';
    bool python;
    if (line_comment && !remark_text(code + i, code + n, &python)) {
      while (i < n && code[i] != '\n')
        i++;
    } else if (c == '/' && i + 1 < n && code[i + 1] == '*') {
      i = bare_find(code, n, i + 2, "*/") + 2;
      space = true;
    } else if (isspace((unsigned char)c)) {
      if (c == '\n' && directive) {
        buf_puts(out, "\n");
        directive = false;
      }
      space = true;
      i++;
    } else {
      directive = directive || c == '#' || line_comment;
      if (space)
        buf_puts(out, " ");
      space = false;
      if (c == '"' || c == '\'')
        put_string(code, n, &i, out);
      else
        buf_append(out, &code[i++], 1);
    }
  }
}

// Python: lines without comments, white space at their ends, and empty ones. Strings of several lines are lines.
static void normalise_python(const char *code, size_t n, struct buf *out) {
  for (size_t at = 0; at < n;) {
    const char *end = memchr(code + at, '\n', n - at);
    size_t stop = end ? (size_t)(end - code) : n, next = end ? stop + 1 : n, first = at;
    while (first < stop && isspace((unsigned char)code[first]))
      first++;
    while (stop > first && isspace((unsigned char)code[stop - 1]))
      stop--;
    if (first < stop && code[first] != '#') {
      buf_append(out, code + at, stop - at);
      buf_puts(out, "\n");
    }
    at = next;
  }
}

enum assay_status model_code_hash(const char *code, size_t n, bool hash_comments, char hex[65],
                                  struct assay_error *err) {
  struct buf b = {0};
  if (hash_comments)
    normalise_python(code, n, &b);
  else
    normalise_c(code, n, &b);
  enum assay_status status = buf_status(&b, err);
  if (!status)
    hash_sha256_hex(buf_str(&b), b.len, hex);
  buf_release(&b);
  return status;
}
