// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"

#include <stdio.h>
#include <string.h>

// The length of the well-formed UTF-8 sequence at p (Unicode 15, table 3-7), 0 when there is none, and its character.
// Reads no further than the first byte that does not belong, so it stops at the text's end.
static int sequence(const unsigned char *p, uint32_t *character) {
  *character = p[0];
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
  *character = code;
  return code < least[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? 0 : n;
}

bool printable_misleads(uint32_t c) {
  static const struct {
    uint32_t first, last;
  } ranges[] = {{0x80, 0x9f},     {0xad, 0xad},     {0x34f, 0x34f},   {0x61c, 0x61c},
                {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180e, 0x180e}, {0x200b, 0x200b},
                {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164},
                {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    if (c >= ranges[i].first && c <= ranges[i].last)
      return true;
  return false;
}

void printable(char *text) {
  unsigned char *p = (unsigned char *)text;
  while (*p) {
    uint32_t c;
    int n = sequence(p, &c);
    const bool stays = n > 1 ? !printable_misleads(c) : n == 1 && (c == '\n' || c == '\t' || (c >= 0x20 && c != 0x7f));
    const int taken = n > 0 ? n : 1;
    if (!stays)
      memset(p, '?', (size_t)taken);
    p += taken;
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
