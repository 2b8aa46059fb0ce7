// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <sha2.h>
#include <stdint.h>

void hash_sha256_hex(const void *bytes, size_t n, char hex[HASH_HEX_BYTES]) {
  static const char digits[] = "0123456789abcdef";
  uint8_t sum[SHA256_DIGEST_LENGTH];
  SHA2_CTX ctx;
  SHA256Init(&ctx);
  SHA256Update(&ctx, bytes, n);
  SHA256Final(sum, &ctx);
  for (size_t i = 0; i < sizeof sum; i++) {
    hex[2 * i] = digits[sum[i] >> 4];
    hex[2 * i + 1] = digits[sum[i] & 15];
  }
  hex[HASH_HEX_BYTES - 1] = '\0';
}
