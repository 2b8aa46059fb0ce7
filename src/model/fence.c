// SPDX-License-Identifier: Apache-2.0
#include "model/fence.h"

#include <string.h>

static size_t line_end(const char *text, size_t n, size_t at) {
  const char *end = memchr(text + at, '\n', n - at);
  return end ? (size_t)(end - text) : n;
}

// The length of a run of fence characters after spaces; 0: the line is no fence.
static size_t fence_of(const char *line, size_t n, size_t *indent, char *mark) {
  size_t i = 0, from;
  while (i < n && (line[i] == ' ' || line[i] == '\t'))
    i++;
  from = i;
  if (i == n || (line[i] != '`' && line[i] != '~'))
    return 0;
  *mark = line[i];
  while (i < n && line[i] == *mark)
    i++;
  *indent = from;
  return i - from >= 3 ? i - from : 0;
}

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

// Whether a line of code begins here, and not a tag or a title.
static bool begins_code(const char *text, size_t n) {
  static const char *const words[] = {"#include", "#define", "#pragma",    "//",      "/*",     "void ", "static ",
                                      "extern ",  "typedef", "__global__", "import ", "class ", "def "};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (n > strlen(words[i]) && memcmp(text, words[i], strlen(words[i])) == 0)
      return true;
  return false;
}

// A block within a line, "```c code```": false where it is none.
static bool is_one_line(const char *line, size_t n, size_t from, char mark, size_t length, struct fence_block *b) {
  size_t end = n, begin = from;
  while (end > from && is_space(line[end - 1]))
    end--;
  size_t run = 0;
  while (end > from + run && line[end - run - 1] == mark)
    run++;
  if (run != length || memchr(line + from, mark, end - run - from))
    return false;
  while (begin < end - run && !is_space(line[begin]) && !begins_code(line + begin, end - run - begin))
    begin++;
  b->tag = line + from;
  b->tag_len = begin - from;
  while (begin < end - run && is_space(line[begin]))
    begin++;
  b->text = line + begin;
  b->len = end - run - begin;
  b->closed = true;
  return begins_code(b->text, b->len);
}

static bool opens(const char *line, size_t n, struct fence_block *b, size_t *length, char *mark) {
  *length = fence_of(line, n, &b->indent, mark);
  if (*length == 0)
    return false;
  size_t i = b->indent + *length;
  b->text = NULL;
  if (*mark == '`' && memchr(line + i, '`', n - i)) // a span of code within a line
    return is_one_line(line, n, i, *mark, *length, b);
  while (i < n && (is_space(line[i]) || line[i] == '{' || line[i] == '.'))
    i++;
  b->tag = line + i;
  while (i < n && !is_space(line[i]) && line[i] != '}' && line[i] != ',')
    i++;
  b->tag_len = (size_t)(line + i - b->tag);
  if (begins_code(b->tag, (size_t)(line + n - b->tag))) {
    b->text = b->tag;
    b->tag_len = 0;
  }
  while (i < n && is_space(line[i]))
    i++;
  if (!b->text && begins_code(line + i, n - i))
    b->text = line + i;
  return true;
}

// What may stand after the fence that ends a block: nothing, by CommonMark. Models go on with a sentence on the same
// line, and servers leave a token there that ends the reply ("<|im_end|>", "</s>"). A single word is the tag of a block
// within.
static bool ends_the_line(const char *rest, size_t n) {
  int words = 0;
  for (size_t i = 0; i < n; i++)
    words += !is_space(rest[i]) && (i == 0 || is_space(rest[i - 1]));
  return words == 0 || rest[0] == '<' || (is_space(rest[0]) && words > 1);
}

static bool closes(const char *line, size_t n, char mark, size_t length) {
  size_t indent;
  char its;
  size_t run = fence_of(line, n, &indent, &its);
  if (run < length || its != mark)
    return false;
  return ends_the_line(line + indent + run, n - indent - run);
}

// A line of code that the last fence was written behind, "}```": the length of the code; n: it is none.
static size_t glued(const char *line, size_t n, size_t length) {
  size_t end = n, run = 0;
  while (end > 0 && is_space(line[end - 1]))
    end--;
  while (run < end && line[end - run - 1] == '`')
    run++;
  size_t code = end - run;
  bool ends = run >= 3 && run == length && code > 0 && !is_space(line[code - 1]) && !memchr(line, '`', code);
  return ends ? code : n;
}

// Whether a fence that stands further in than the block's own may is one of two in a comment: the next one is its end.
static bool is_one_of_two(const char *text, size_t n, size_t at, size_t indent) {
  enum { MOST_LINES = 200 };
  for (int i = 0; i < MOST_LINES && at < n; i++) {
    size_t end = line_end(text, n, at), its;
    char mark;
    size_t run = fence_of(text + at, end - at, &its, &mark);
    if (run > 0)
      return its == indent && ends_the_line(text + at + its + run, end - at - its - run);
    at = end + 1;
  }
  return false;
}

// The block's end: of its text, and the place behind the line of its last fence.
static void find_end(const char *text, size_t n, size_t *at, struct fence_block *out, char mark, size_t length) {
  bool inner = false; // between two fences in a comment
  while (*at < n && !out->closed) {
    size_t begin = *at, end = line_end(text, n, begin), indent;
    const char *line = text + begin;
    char its;
    size_t run = fence_of(line, end - begin, &indent, &its), code = end - begin;
    *at = end < n ? end + 1 : n;
    bool deep = run > 0 && indent > out->indent + 3; // CommonMark: no fence
    if (inner || (deep && is_one_of_two(text, n, *at, indent))) {
      inner = !(inner && deep);
      continue;
    }
    out->closed = closes(line, end - begin, mark, length);
    out->len = (size_t)(line - out->text);
    if (!out->closed && mark == '`' && (code = glued(line, end - begin, length)) < end - begin) {
      out->closed = true;
      out->len += code;
    }
  }
}

bool fence_next(const char *text, size_t n, size_t *at, struct fence_block *out) {
  while (*at < n) {
    size_t end = line_end(text, n, *at), length;
    char mark;
    out->closed = false;
    bool opened = opens(text + *at, end - *at, out, &length, &mark);
    *at = end < n ? end + 1 : n;
    if (!opened)
      continue;
    if (out->text && out->closed) // in that line
      return true;
    out->text = out->text ? out->text : text + *at; // code may begin in the fence's line
    out->len = 0;
    find_end(text, n, at, out, mark, length);
    if (!out->closed)
      out->len = (size_t)(text + n - out->text);
    return true;
  }
  return false;
}

void fence_lines(const struct fence_block *b, struct buf *out) {
  for (size_t at = 0; at < b->len;) {
    size_t skip = 0;
    while (skip < b->indent && at + skip < b->len && (b->text[at + skip] == ' ' || b->text[at + skip] == '\t'))
      skip++;
    const char *end = memchr(b->text + at, '\n', b->len - at);
    size_t stop = end ? (size_t)(end - b->text) + 1 : b->len, last = stop;
    bool windows = end && end > b->text + at && end[-1] == '\r';
    if (windows)
      last = stop - 2;
    if (at + skip < last)
      buf_append(out, b->text + at + skip, last - at - skip);
    if (windows)
      buf_puts(out, "\n");
    at = stop;
  }
}
