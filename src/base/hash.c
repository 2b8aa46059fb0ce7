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

void hash_sha256_pull_hex(hash_next_fn *next, void *arg, char hex[HASH_HEX_BYTES]) {
  static const char digits[] = "0123456789abcdef";
  uint8_t sum[SHA256_DIGEST_SIZE];
  struct hash_part part;
  struct sha256_ctx ctx;
  sha256_init(&ctx);
  while (next(arg, &part))
    if (part.n > 0)
      sha256_update(&ctx, part.n, part.bytes);
  finish(&ctx, sum);
  for (int i = 0; i < SHA256_DIGEST_SIZE; i++) {
    hex[2 * i] = digits[sum[i] >> 4];
    hex[2 * i + 1] = digits[sum[i] & 15];
  }
  hex[HASH_HEX_BYTES - 1] = '\0';
}

struct parts {
  const struct hash_part *at, *end;
};

static bool next_part(void *arg, struct hash_part *part) {
  struct parts *p = arg;
  if (p->at == p->end)
    return false;
  *part = *p->at++;
  return true;
}

void hash_sha256_parts_hex(const struct hash_part *parts, int n, char hex[HASH_HEX_BYTES]) {
  struct parts p = {parts, parts + n};
  hash_sha256_pull_hex(next_part, &p, hex);
}

void hash_sha256_hex(const void *bytes, size_t n, char hex[HASH_HEX_BYTES]) {
  const struct hash_part whole = {bytes, n};
  hash_sha256_parts_hex(&whole, 1, hex);
}
