// SPDX-License-Identifier: Apache-2.0
#include "report/publish.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "score/newest.h"

// What may stand before a path: a slash after anything else is within a word ("wrong/wrong", "https://").
static bool begins_word(const char *text, size_t i) {
  if (i == 0 || isspace((unsigned char)text[i - 1]) || strchr("'\"`=:,;([{<>|&", text[i - 1]))
    return true;
  // -I/usr/include, -L/usr/lib
  return i >= 2 && strchr("IL", text[i - 1]) && text[i - 2] == '-' && (i == 2 || isspace((unsigned char)text[i - 3]));
}

static bool is_path_character(char c) {
  return (unsigned char)c > ' ' && !strchr("'\"`:,;()[]{}<>|&=", c);
}

// Where the path that begins at `begin` ends; in quotes it may have spaces.
static size_t end_of_path(const char *text, size_t begin) {
  size_t i = begin;
  char quote = begin > 0 ? text[begin - 1] : '\0';
  if (quote == '\'' || quote == '"' || quote == '`') {
    const char *end = strchr(text + begin, quote), *line = strchr(text + begin, '\n');
    if (end && (!line || end < line))
      return (size_t)(end - text);
  }
  while (is_path_character(text[i]))
    i++;
  return i;
}

// The last name of the path [begin, end), and whether it has another before it.
static size_t last_name(const char *text, size_t begin, size_t end, bool *several) {
  size_t last = begin, names = 0;
  for (size_t i = begin; i < end; i++)
    if (text[i] == '/' && i + 1 < end && text[i + 1] != '/') {
      last = i + 1;
      names++;
    }
  *several = names > 1;
  return last;
}

const char *publish_text(struct arena *arena, const char *text) {
  static const char dots[] = ".../";
  if (!text)
    return "";
  if (!strchr(text, '/'))
    return arena_strdup(arena, text);
  // "~/b" becomes ".../b": no path grows to more than twice its length.
  const size_t n = strlen(text);
  char *out = arena_alloc(arena, 2 * n + 8);
  size_t used = 0;
  for (size_t i = 0; out && i < n;) {
    bool several = false, home = text[i] == '~' && text[i + 1] == '/';
    if ((text[i] == '/' || home) && begins_word(text, i)) {
      size_t end = end_of_path(text, i), last = last_name(text, i, end, &several);
      if (several || home) {
        memcpy(out + used, dots, sizeof dots - 1);
        memcpy(out + used + sizeof dots - 1, text + last, end - last);
        used += sizeof dots - 1 + end - last;
        i = end;
        continue;
      }
    }
    out[used++] = text[i++];
  }
  return out;
}

const char *publish_candidate(const char *candidate) {
  return score_file_of(candidate);
}
