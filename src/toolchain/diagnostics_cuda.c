// SPDX-License-Identifier: Apache-2.0
// Messages of CUDA's compilers: "x.cu(12): error: ...", then the line, and "^" under the place. Editors read
// "x.cu:12:7: error: ...".
#include <string.h>

#include "toolchain/cc.h"

static const char begin[] = "__attribute__((", end[] = "))";

// Appends a quoted line as its author wrote it, for "__global__" is quoted as "__attribute__((global))". Returns how
// many characters fewer there are before `column`.
static size_t put_unexpanded(const char *line, size_t n, size_t column, struct buf *out) {
  size_t fewer = 0;
  for (size_t i = 0; i < n;) {
    size_t word = i + strlen(begin), length = 0;
    if (word < n && strncmp(line + i, begin, strlen(begin)) == 0)
      length = strspn(line + word, "abcdefghijklmnopqrstuvwxyz_");
    if (length == 0 || strncmp(line + word + length, end, strlen(end)) != 0) {
      buf_append(out, line + i++, 1);
      continue;
    }
    buf_printf(out, "__%.*s__", (int)length, line + word);
    i = word + length + strlen(end);
    if (i <= column)
      fewer += strlen(begin) + strlen(end) - strlen("____");
  }
  return fewer;
}

// The beginning of a line of the source, counted from 1; NULL when it has fewer.
static const char *line_of(const char *source, long number) {
  for (long i = 1; i < number && source; i++)
    source = (source = strchr(source, '\n')) ? source + 1 : NULL;
  return source;
}

// Where the line that is quoted after the message `at` is that of the source: the place's column from 1. Otherwise 0,
// for a macro may have made it longer.
static size_t column_of(const char *at, const char *source) {
  const char *line = strchr(at, '\n'), *under = line ? strchr(line + 1, '\n') : NULL;
  if (!source || !under)
    return 0;
  line++;
  size_t indent = strspn(line, " \t"), caret = strspn(under + 1, " \t"), column = 0;
  if (indent == 0 || caret < indent || under[1 + caret] != '^')
    return 0;
  struct buf own = {0};
  size_t fewer = put_unexpanded(line + indent, (size_t)(under - line) - indent, caret - indent, &own);
  size_t blank = strspn(source, " \t"), length = strcspn(source + blank, "\r\n");
  if (!own.failed && length == own.len && memcmp(source + blank, buf_str(&own), length) == 0)
    column = blank + caret - indent - fewer + 1;
  buf_release(&own);
  return column;
}

// "NAME(12)" at the beginning of a line; returns its length, 0 where it is not there.
static size_t take_place(const char *line, const char *name, long *number) {
  size_t n = strlen(name),
         digits = strncmp(line, name, n) == 0 && line[n] == '(' ? strspn(line + n + 1, "0123456789") : 0;
  if (digits == 0 || digits > 8 || strncmp(line + n + 1 + digits, "): ", 3) != 0)
    return 0;
  *number = 0;
  for (size_t i = 0; i < digits; i++)
    *number = *number * 10 + (line[n + 1 + i] - '0');
  return n + digits + 2;
}

void diagnostics_of_cuda(const char *text, const char *name, const char *source, struct buf *out) {
  while (*text) {
    size_t n = strcspn(text, "\n");
    long number;
    size_t place = take_place(text, name, &number);
    if (place > 0) {
      size_t column = column_of(text, source ? line_of(source, number) : NULL);
      buf_printf(out, "%s:%ld", name, number);
      if (column > 0)
        buf_printf(out, ":%zu", column);
    }
    n += text[n] == '\n';
    buf_append(out, text + place, n - place);
    text += n;
  }
}
