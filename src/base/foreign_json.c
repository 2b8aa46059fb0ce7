// SPDX-License-Identifier: Apache-2.0
#include "base/foreign_json.h"

#include <stdbool.h>

// How long the word is that begins here; 0: none.
static size_t word_at(const char *text, size_t n) {
  static const char *const words[] = {"-Infinity", "Infinity", "NaN"};
  for (size_t w = 0; w < sizeof words / sizeof *words; w++)
    if (n >= strlen(words[w]) && memcmp(text, words[w], strlen(words[w])) == 0)
      return strlen(words[w]);
  return 0;
}

void foreign_json(const char *text, size_t n, const char *instead, struct buf *out) {
  static const char mark[] = "\xef\xbb\xbf";
  const size_t begin = n >= strlen(mark) && memcmp(text, mark, strlen(mark)) == 0 ? strlen(mark) : 0;
  bool quoted = false, escaped = false;
  for (size_t i = begin, m; i < n; i += m) {
    quoted ^= text[i] == '"' && !escaped;
    escaped = text[i] == '\\' && !escaped;
    m = quoted ? 0 : word_at(text + i, n - i);
    if (m > 0 && instead)
      buf_puts(out, instead);
    else if (m > 0)
      buf_printf(out, "\"%.*s\"", (int)m, text + i);
    else
      buf_append(out, text + i, m = 1);
  }
}
