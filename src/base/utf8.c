// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

size_t utf8_length(const char *s, size_t n) {
  const unsigned char *u = (const unsigned char *)s;
  if (n == 0)
    return 0;
  if (u[0] < 0x80)
    return 1;
  size_t length = u[0] >= 0xc2 && u[0] <= 0xdf ? 2 : (u[0] & 0xf0) == 0xe0 ? 3 : u[0] >= 0xf0 && u[0] <= 0xf4 ? 4 : 0;
  if (length == 0 || length > n)
    return 0;
  for (size_t i = 1; i < length; i++)
    if ((u[i] & 0xc0) != 0x80)
      return 0;
  if ((u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f) || (u[0] == 0xf0 && u[1] < 0x90) ||
      (u[0] == 0xf4 && u[1] > 0x8f))
    return 0;
  return length;
}

size_t utf8_decode(const char *s, size_t n, uint32_t *character) {
  static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07}; // the bits that the first byte has of it
  const size_t length = utf8_length(s, n);
  *character = length ? (unsigned char)s[0] & first[length] : 0;
  for (size_t i = 1; i < length; i++)
    *character = *character << 6 | ((unsigned char)s[i] & 0x3fu);
  return length;
}
