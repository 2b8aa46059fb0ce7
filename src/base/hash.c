// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <nettle/sha2.h>
#include <nettle/version.h>
#include <stdint.h>

static void finish(struct sha256_ctx *ctx, uint8_t sum[SHA256_DIGEST_SIZE]) {
#if NETTLE_VERSION_MAJOR >= 4
  sha256_digest(ctx, sum);
#else
  sha256_digest(ctx, SHA256_DIGEST_SIZE, sum);
#endif
}

void hash_sha256_parts_hex(const struct hash_part *parts, int n, char hex[HASH_HEX_BYTES]) {
  static const char digits[] = "0123456789abcdef";
  uint8_t sum[SHA256_DIGEST_SIZE];
  struct sha256_ctx ctx;
  sha256_init(&ctx);
  for (int i = 0; i < n; i++)
    if (parts[i].n > 0)
      sha256_update(&ctx, parts[i].n, parts[i].bytes);
  finish(&ctx, sum);
  for (int i = 0; i < SHA256_DIGEST_SIZE; i++) {
    hex[2 * i] = digits[sum[i] >> 4];
    hex[2 * i + 1] = digits[sum[i] & 15];
  }
  hex[HASH_HEX_BYTES - 1] = '\0';
}

void hash_sha256_hex(const void *bytes, size_t n, char hex[HASH_HEX_BYTES]) {
  const struct hash_part whole = {bytes, n};
  hash_sha256_parts_hex(&whole, 1, hex);
}
