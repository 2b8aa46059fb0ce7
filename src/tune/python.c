// SPDX-License-Identifier: Apache-2.0
#include "tune/python.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

// The end of the text whose quote is at p. One of a single quote ends with its line at the latest.
static const char *past_text(const char *p, const char *end) {
  const char quote = *p;
  const bool triple = end - p >= 3 && p[1] == quote && p[2] == quote;
  for (p += triple ? 3 : 1; p < end; p++) {
    if (*p == '\\' && end - p > 1)
      p += p[1] == '\r' && end - p > 2 && p[2] == '\n' ? 2 : 1;
    else if (!triple && *p == '\n')
      return p;
    else if (*p == quote && (!triple || (end - p >= 3 && p[1] == quote && p[2] == quote)))
      return p + (triple ? 3 : 1);
  }
  return end;
}

static const char *past_comment(const char *p, const char *end) {
  const char *stop = memchr(p, '\n', (size_t)(end - p));
  return stop ? stop : end;
}

// Past a backslash and what it is before: a line's end, mostly.
static const char *past_backslash(const char *p, const char *end) {
  const ptrdiff_t n = end - p > 2 && p[1] == '\r' ? 3 : 2;
  return end - p < n ? end : p + n;
}

const char *python_statement_end(const char *p, const char *end) {
  int depth = 0;
  while (p < end)
    switch (*p) {
    case '"':
    case '\'':
      p = past_text(p, end);
      break;
    case '#':
      p = past_comment(p, end);
      break;
    case '\\':
      p = past_backslash(p, end);
      break;
    case '\n':
    case ';':
      if (depth == 0)
        return p;
      p++;
      break;
    default:
      depth += memchr("([{", *p, 3) ? 1 : memchr(")]}", *p, 3) && depth > 0 ? -1 : 0;
      p++;
    }
  return end;
}

static bool is_word_char(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

static const char *skip(const char *p, const char *stop, const char *these) {
  while (p < stop && memchr(these, *p, strlen(these)))
    p++;
  return p;
}

// One target of an assignment ("NAME", "(NAME", "*NAME)"), and what follows it; NULL: it is none.
static const char *target(const char *at, const char *stop, const char *name, bool *found) {
  const char *word = skip(at, stop, " \t\r\n\\([,*)]");
  at = word;
  while (at < stop && is_word_char(*at))
    at++;
  *found |= (size_t)(at - word) == strlen(name) && memcmp(word, name, (size_t)(at - word)) == 0;
  return at == word ? NULL : skip(at, stop, " \t\r\n\\)]");
}

bool python_assigns(const char *p, const char *stop, const char *name) {
  bool found = false;
  for (const char *at = p; (at = target(at, stop, name, &found)) && at < stop;) {
    bool gives = *at == '=' && stop - at > 1 && at[1] != '=';
    if (found && *at == ':')
      return memchr(at, '=', (size_t)(stop - at)) != NULL;
    if (gives && found)
      return true;
    if (!gives && *at != ',')
      return false;
    at++;
  }
  return false;
}

bool python_is_compound(const char *p, const char *stop) {
  static const char *const words[] = {"if",     "elif",    "else", "for", "while", "try",
                                      "except", "finally", "with", "def", "class", "async"};
  size_t n = 0;
  while (p + n < stop && is_word_char(p[n]))
    n++;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strlen(words[i]) == n && memcmp(words[i], p, n) == 0)
      return true;
  return false;
}
