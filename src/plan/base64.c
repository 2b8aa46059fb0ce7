// SPDX-License-Identifier: Apache-2.0
#include "plan/base64.h"

#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct buf *out, const uint8_t *bytes, size_t n) {
  char line[1024];
  size_t used = 0;
  for (size_t i = 0; i < n; i += 3) {
    uint32_t rest = n - i < 3 ? (uint32_t)(n - i) : 3;
    uint32_t v =
        (uint32_t)bytes[i] << 16 | (rest > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) | (rest > 2 ? bytes[i + 2] : 0);
    line[used++] = digits[v >> 18];
    line[used++] = digits[v >> 12 & 63];
    line[used++] = rest > 1 ? digits[v >> 6 & 63] : '=';
    line[used++] = rest > 2 ? digits[v & 63] : '=';
    if (used == sizeof line || i + 3 >= n) {
      buf_append(out, line, used);
      used = 0;
    }
  }
}

size_t base64_decoded_size(const char *text, size_t n) {
  if (n % 4)
    return SIZE_MAX;
  size_t padding = 0;
  while (padding < 2 && padding < n && text[n - 1 - padding] == '=')
    padding++;
  return n / 4 * 3 - padding;
}

static int value_of(char c) {
  if (c >= 'A' && c <= 'Z')
    return c - 'A';
  if (c >= 'a' && c <= 'z')
    return c - 'a' + 26;
  if (c >= '0' && c <= '9')
    return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool base64_decode(const char *text, size_t n, uint8_t *out) {
  size_t bytes = base64_decoded_size(text, n);
  if (bytes == SIZE_MAX)
    return false;
  for (size_t i = 0, at = 0; i < n; i += 4) {
    size_t rest = bytes - at < 3 ? bytes - at : 3;
    uint32_t v = 0;
    for (size_t k = 0; k < 4; k++) {
      int digit = k <= rest ? value_of(text[i + k]) : 0;
      if (digit < 0)
        return false;
      v = v << 6 | (uint32_t)digit;
    }
    if ((rest == 1 && v & 0xffff) || (rest == 2 && v & 0xff))
      return false;
    for (size_t k = 0; k < rest; k++)
      out[at++] = (uint8_t)(v >> (16 - 8 * k));
  }
  return true;
}
