// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

bool printable_misleads(uint32_t c) {
  // Default_Ignorable_Code_Point of Unicode's DerivedCoreProperties.txt (places in it are kept for more such), which
  // has all of Bidi_Control, and with it what ends lines or is a control elsewhere.
  static const struct {
    uint32_t first, last;
  } ranges[] = {{0x80, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},    {0x61c, 0x61c},   {0x115f, 0x1160},
                {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},  {0x2028, 0x202e}, {0x2060, 0x206f},
                {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},  {0xffa0, 0xffa0}, {0xfff0, 0xfffb},
                {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    if (c >= ranges[i].first && c <= ranges[i].last)
      return true;
  return false;
}

void printable(char *text) {
  enum { LONGEST = 4 }; // of a character, and no longer than the text: its end belongs to none
  for (char *p = text; *p;) {
    uint32_t c;
    const size_t n = utf8_decode(p, LONGEST, &c), taken = n ? n : 1;
    const bool stays = n > 1 ? !printable_misleads(c) : n == 1 && (c == '\n' || c == '\t' || (c >= 0x20 && c != 0x7f));
    if (!stays)
      memset(p, '?', taken);
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
