#include "judge/printable.h"

#include <stdint.h>

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

void printable(char *text) {
  unsigned char *p = (unsigned char *)text;
  while (*p) {
    int n = sequence(p);
    if (n == 0 || (n == 1 && ((*p < 0x20 && *p != '\n' && *p != '\t') || *p == 0x7f)))
      *p++ = '?';
    else if (n == 2 && p[0] == 0xc2 && p[1] < 0xa0)
      *p = '?', p[1] = '?', p += 2; // U+0080 to U+009F
    else
      p += n;
  }
}
