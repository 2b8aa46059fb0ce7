// SPDX-License-Identifier: Apache-2.0
#include "base/remark.h"

#include <stddef.h>
#include <string.h>

static bool blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

// Past blanks and the text, or NULL.
static const char *past(const char *p, const char *end, const char *text) {
  size_t n = strlen(text);
  while (p < end && blank(*p))
    p++;
  return (size_t)(end - p) >= n && memcmp(p, text, n) == 0 ? p + n : NULL;
}

const char *remark_text(const char *p, const char *end, bool *python) {
  const char *mark = past(p, end, "//");
  *python = !mark;
  mark = mark ? mark : past(p, end, "#");
  return mark ? past(mark, end, "assay:") : NULL;
}

const char *remark_goes_on(const char *p, const char *end) {
  while (end > p && blank(end[-1]))
    end--;
  return end > p && end[-1] == '\\' ? end - 1 : NULL;
}

const char *remark_rest(const char *p, const char *end, bool python) {
  const char *text = past(p, end, python ? "#" : "//"), *again = text ? past(text, end, "assay:") : NULL;
  return again ? again : text;
}
