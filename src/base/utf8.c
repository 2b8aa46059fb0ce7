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
