// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

// The length of the well-formed UTF-8 sequence at p (Unicode 15, table 3-7), 0 when there is none. Reads no further
// than the first byte that does not belong, so it stops at the text's end.
static int sequence(const unsigned char *p) {
  if (p[0] < 0x80)
    return 1;
  int n = p[0] >= 0xc2 && p[0] <= 0xdf ? 2 : p[0] >= 0xe0 && p[0] <= 0xef ? 3 : p[0] >= 0xf0 && p[0] <= 0xf4 ? 4 : 0;
  uint32_t code = n == 2 ? p[0] & 0x1fu : n == 3 ? p[0] & 0x0fu : p[0] & 0x07u;
  for (int i = 1; i < n; i++) {
    if ((p[i] & 0xc0) != 0x80)
      return 0;
    code = code << 6 | (p[i] & 0x3fu);
  }
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  return code < least[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? 0 : n;
}

// Characters that show nothing and change how the rest is shown: marks of direction, and separators of lines.
static bool misleads(const unsigned char *p, int n) {
  if (n != 3 || p[0] != 0xe2)
    return false;
  unsigned code = 0x2000u | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
  return (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

void printable(char *text) {
  unsigned char *p = (unsigned char *)text;
  while (*p) {
    int n = sequence(p);
    if (n == 0 || (n == 1 && ((*p < 0x20 && *p != '\n' && *p != '\t') || *p == 0x7f)))
      *p++ = '?';
    else if (n == 2 && p[0] == 0xc2 && p[1] < 0xa0)
      *p = '?', p[1] = '?', p += 2; // U+0080 to U+009F
    else if (misleads(p, n))
      *p = '?', p[1] = '?', p[2] = '?', p += 3;
    else
      p += n;
  }
}

const char *printable_line(const char *text, char *out, size_t size) {
  snprintf(out, size, "%s", text ? text : "");
  for (char *p = out; *p; p++)
    if (*p == '\n' || *p == '\t')
      *p = ' ';
  printable(out);
  return out;
}
