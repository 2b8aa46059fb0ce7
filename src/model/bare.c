// SPDX-License-Identifier: Apache-2.0
#include "model/bare.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/remark.h"

size_t bare_find(const char *text, size_t n, size_t at, const char *word) {
  size_t k = strlen(word);
  char low = (char)tolower((unsigned char)word[0]), high = (char)toupper((unsigned char)word[0]);
  for (; at + k <= n; at++)
    if ((text[at] == low || text[at] == high) && strncasecmp(text + at, word, k) == 0)
      return at;
  return n;
}

bool bare_has_entry(const struct model_language *l, const char *text, size_t n) {
  for (int i = 0; l->entries[i]; i++)
    if (memmem(text, n, l->entries[i], strlen(l->entries[i])))
      return true;
  return false;
}

// Whether the line has a directive in a comment, maybe behind code.
static bool has_remark(const char *text, size_t end, size_t at) {
  bool python;
  while ((at = bare_find(text, end, at, "//")) < end)
    if (remark_text(text + at++, text + end, &python))
      return true;
  return false;
}

// --- the entry point

enum { MOST_HEAD = 1024, MOST_INDENT = 256 }; // of a function; before a name in its line

static bool is_letter(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

static bool is_blank(char c) {
  return isspace((unsigned char)c);
}

// Whether a list of parameters and a body follow.
static bool is_function(const char *text, size_t n, size_t at) {
  size_t end = n - at < MOST_HEAD ? n : at + MOST_HEAD;
  int open = 0;
  while (at < end && is_blank(text[at]))
    at++;
  if (at == end || text[at] != '(')
    return false;
  for (; at < end; at++) {
    open += text[at] == '(';
    open -= text[at] == ')';
    if (open == 0)
      break;
  }
  for (at++; at < end && is_blank(text[at]);)
    at++;
  return at < end && text[at] == '{';
}

// Whether the name at text[at], of k bytes, is where the entry point is made.
static bool is_defined(const struct model_language *l, const char *text, size_t n, size_t at, size_t k) {
  size_t line = at;
  while (line > 0 && at - line < MOST_INDENT && text[line - 1] != '\n')
    line--;
  size_t before = at - line;
  if (memchr(text + at, ':', k)) { // words of a comment
    for (size_t i = line; i < at; i++)
      if (!strchr(" \t/*", text[i]) || !text[i])
        return false;
    return true;
  }
  if ((at > 0 && is_letter(text[at - 1])) || (at + k < n && is_letter(text[at + k])))
    return false;
  if (l->braces)
    return !memmem(text + line, before, "//", 2) && is_function(text, n, at + k);
  bool assigned = before == 0 && n - at - k > 3 && memcmp(text + at + k, " = ", 3) == 0;
  return assigned || (before == 6 && memcmp(text + line, "class ", 6) == 0) ||
         (before == 4 && memcmp(text + line, "def ", 4) == 0);
}

// A comment that stands for what is not written: "// ...", "# ... (unchanged)".
static bool is_elided(const char *text, size_t n) {
  static const char *const dots[] = {"...", "\xe2\x80\xa6"};
  for (size_t d = 0; d < sizeof dots / sizeof *dots; d++) {
    const char *at = text;
    while (at && (at = memmem(at, n - (size_t)(at - text), dots[d], strlen(dots[d])))) {
      const char *i = at, *comment;
      while (i > text && (i[-1] == ' ' || i[-1] == '\t'))
        i--;
      for (comment = i; i > text && strchr("/*#", i[-1]) && i[-1];)
        i--;
      bool is_comment = i < comment;
      while (i > text && (i[-1] == ' ' || i[-1] == '\t'))
        i--;
      if (is_comment && (i == text || i[-1] == '\n'))
        return true;
      at += strlen(dots[d]);
    }
  }
  return false;
}

enum bare_entry bare_entry(const struct model_language *l, const char *text, size_t n) {
  enum bare_entry found = BARE_NONE;
  bool body = !l->braces || (n > 0 && memchr(text, '{', n));
  for (int i = 0; l->entries[i]; i++) {
    size_t k = strlen(l->entries[i]);
    const char *at = n > 0 ? memmem(text, n, l->entries[i], k) : NULL;
    for (; at; at = memmem(at + k, n - (size_t)(at + k - text), l->entries[i], k)) {
      if (body && is_defined(l, text, n, (size_t)(at - text), k))
        return is_elided(text, n) ? BARE_ELIDED : BARE_DEFINED;
      found = BARE_NAMED;
    }
  }
  return found;
}

// --- brackets

// How many brackets were open where each #if began: of its branches one is compiled.
enum { MOST_BRANCHES = 32 };
struct branches {
  int open[MOST_BRANCHES], depth;
};

// A directive at text[i]: how many brackets are open after it.
static int take_directive(struct branches *b, const char *text, size_t n, size_t i, int open) {
  i++;
  while (i < n && (text[i] == ' ' || text[i] == '\t'))
    i++;
  if (n - i >= 2 && memcmp(text + i, "if", 2) == 0) { // #if, #ifdef, #ifndef
    if (b->depth < MOST_BRANCHES)
      b->open[b->depth] = open;
    b->depth++;
  } else if (n - i >= 3 && memcmp(text + i, "end", 3) == 0) {
    b->depth -= b->depth > 0;
  } else if (n - i >= 3 && memcmp(text + i, "el", 2) == 0 && b->depth > 0 && b->depth <= MOST_BRANCHES) {
    return b->open[b->depth - 1];
  }
  return open;
}

int bare_open_brackets(const char *text, size_t n) {
  struct branches branches = {.depth = 0};
  int open = 0;
  bool line_begins = true;
  for (size_t i = 0; i < n; i++) {
    char c = text[i];
    if (c == '#' && line_begins)
      open = take_directive(&branches, text, n, i, open);
    line_begins = c == '\n' || (line_begins && isspace((unsigned char)c));
    if (c == '"' || c == '\'') {
      for (i++; i < n && text[i] != c && text[i] != '\n'; i++)
        i += text[i] == '\\';
      line_begins = i < n && text[i] == '\n';
    } else if (c == '/' && i + 1 < n && text[i + 1] == '/') {
      while (i + 1 < n && text[i + 1] != '\n')
        i++;
    } else if (c == '/' && i + 1 < n && text[i + 1] == '*') {
      size_t end = bare_find(text, n, i + 2, "*/");
      i = end + 1;
    } else {
      open += c == '{' || c == '(' || c == '[';
      open -= c == '}' || c == ')' || c == ']';
    }
  }
  return open;
}

// --- without a fence

static size_t line_of(const char *text, size_t n, size_t at) {
  const char *end = memchr(text + at, '\n', n - at);
  return end ? (size_t)(end - text) : n;
}

static bool begins_with(const char *line, size_t n, const char *const *words) {
  for (; *words; words++)
    if (n >= strlen(*words) && memcmp(line, *words, strlen(*words)) == 0)
      return true;
  return false;
}

static bool is_tag(const char *line, size_t n) {
  // Of HTML, of LaTeX, of Org.
  return n > 2 &&
         (line[0] == '<' || (line[0] == '\\' && isalpha((unsigned char)line[1])) || memcmp(line, "#+", 2) == 0);
}

// Whether a line of the language's files can begin so.
static bool begins_file(const struct model_language *l, const char *line, size_t n) {
  static const char *const c_words[] = {"#",        "//",       "/*",      "void ",      "static ",
                                        "typedef ", "struct ",  "extern ", "__global__", "__kernel",
                                        "kernel",   "template", "inline ", "const ",     NULL};
  static const char *const python_words[] = {"import ", "from ", "class ", "def ", "@", "#", "\"\"\"", NULL};
  return begins_with(line, n, l->braces ? c_words : python_words);
}

bool bare_looks_like_code(const struct model_language *l, const char *text, size_t n) {
  bool code = l->braces ? memchr(text, '{', n) && memchr(text, '}', n)
                        : memchr(text, '\n', n) || memmem(text, n, "\\n", 2); // also written twice, as in JSON
  for (size_t at = 0, end; code && at < n; at = end + 1) {
    end = line_of(text, n, at);
    while (at < end && isspace((unsigned char)text[at]))
      at++;
    if (begins_file(l, text + at, end - at))
      return bare_has_entry(l, text, n);
  }
  return false;
}

size_t bare_end(const char *text, size_t n) {
  size_t to = n;
  for (size_t at = 0, end; at < n; at = end + 1) {
    end = line_of(text, n, at);
    size_t i = at;
    while (i < end && isspace((unsigned char)text[i]))
      i++;
    bool closes = memchr(text + at, '}', end - at) || has_remark(text, end, at) ||
                  (i < end && bare_find(text, end, i, "#endif") == i);
    to = closes ? (end < n ? end + 1 : n) : to;
  }
  for (size_t i = to; i < n; i++)
    if (strchr("{};#=\\", text[i]) || (text[i] == '/' && i + 1 < n && strchr("/*", text[i + 1])))
      return n;
  return bare_open_brackets(text, to) == 0 ? to : n;
}

// "import torch.nn as nn", "from a import b, c": no sentence begins like it.
static bool is_import(const char *line, size_t n) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_., ()*";
  bool from = n > 5 && memcmp(line, "from ", 5) == 0, import = n > 7 && memcmp(line, "import ", 7) == 0;
  size_t words = 0;
  if (from ? bare_find(line, n, 5, " import ") == n : !import)
    return false;
  for (size_t i = 0; i < n; i++) {
    if (!line[i] || !strchr(letters, line[i]))
      return false;
    words += line[i] == ' ';
  }
  return from || words == 1 || bare_find(line, n, 0, " as ") < n || memchr(line, ',', n);
}

// Python has no brackets that say where it ends: it begins with an import, and ends with the last line that is indented
// or begins as a file's line does, where words alone follow.
static bool python_code(const struct model_language *l, const char *text, size_t n, size_t *begin, size_t *len) {
  size_t from = n, to = 0;
  for (size_t at = 0, end; at < n; at = end + 1) {
    end = line_of(text, n, at);
    if (from == n && is_import(text + at, end - at))
      from = at;
    bool indented = at < end && (text[at] == ' ' || text[at] == '\t');
    if (from < n && at < end && (indented || begins_file(l, text + at, end - at) || strchr(")]}", text[at])))
      to = end < n ? end + 1 : n;
  }
  if (from >= to || bare_entry(l, text + from, to - from) < BARE_ELIDED)
    return false;
  *begin = from;
  *len = to - from;
  return true;
}

// C: from the first line that can begin a file to the last bracket that is closed, or the last line for the judge.
bool bare_code(const struct model_language *l, const char *text, size_t n, size_t *begin, size_t *len) {
  size_t from = n, to = 0;
  bool goes_on = false; // the line before ends in a backslash
  for (size_t at = 0, end; at < n; at = end + 1) {
    end = line_of(text, n, at);
    size_t i = at;
    while (i < end && isspace((unsigned char)text[i]))
      i++;
    if (i == end || is_tag(text + i, end - i))
      continue;
    if (from == n && begins_file(l, text + i, end - i))
      from = at;
    else if (from == n && !l->braces)
      return python_code(l, text, n, begin, len);
    bool closes = goes_on || memchr(text + at, '}', end - at) || has_remark(text, end, at) ||
                  bare_find(text, end, i, "#endif") == i;
    to = !l->braces || closes ? (end < n ? end + 1 : n) : to;
    goes_on = closes && text[end - 1] == '\\';
  }
  if (from >= to || !bare_has_entry(l, text + from, to - from))
    return false;
  *begin = from;
  *len = to - from;
  return !l->braces || (bare_open_brackets(text + from, *len) == 0 && memchr(text + from, '{', *len) &&
                        memchr(text + from, '}', *len));
}

bool bare_unquote(const char *text, size_t n, struct buf *out) {
  size_t fence = bare_find(text, n, 0, "> ```");
  if (fence == n || (fence > 0 && text[fence - 1] != '\n'))
    return false;
  for (size_t at = 0, end; at < n; at = end + 1) {
    end = line_of(text, n, at);
    size_t skip = text[at] != '>' ? 0 : at + 1 < end && text[at + 1] == ' ' ? 2 : 1;
    buf_append(out, text + at + skip, (end < n ? end + 1 : n) - at - skip);
  }
  return !out->failed;
}
