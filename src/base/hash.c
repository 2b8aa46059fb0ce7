// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <sha2.h>
#include <stdint.h>
#include <string.h>

#include "base/hash_blocks.h"

static void put_hex(const uint8_t sum[SHA256_DIGEST_LENGTH], char hex[HASH_HEX_BYTES]) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < SHA256_DIGEST_LENGTH; i++) {
    hex[2 * i] = digits[sum[i] >> 4];
    hex[2 * i + 1] = digits[sum[i] & 15];
  }
  hex[HASH_HEX_BYTES - 1] = '\0';
}

void hash_sha256_plain_hex(const struct hash_part *parts, int n, char hex[HASH_HEX_BYTES]) {
  uint8_t sum[SHA256_DIGEST_LENGTH];
  SHA2_CTX ctx;
  SHA256Init(&ctx);
  for (int i = 0; i < n; i++)
    SHA256Update(&ctx, parts[i].bytes, parts[i].n);
  SHA256Final(sum, &ctx);
  put_hex(sum, hex);
}

// --- by the processor's instructions

struct stream {
  uint32_t state[8];
  uint64_t bytes;
  unsigned char rest[HASH_BLOCK]; // bytes % HASH_BLOCK of it
};

static void update(struct stream *s, const unsigned char *bytes, size_t n) {
  const size_t held = (size_t)(s->bytes % HASH_BLOCK), wanted = HASH_BLOCK - held;
  s->bytes += n;
  if (held > 0) {
    const size_t taken = n < wanted ? n : wanted;
    memcpy(s->rest + held, bytes, taken);
    if (taken < wanted)
      return;
    hash_blocks(s->state, s->rest, 1);
    bytes += taken;
    n -= taken;
  }
  hash_blocks(s->state, bytes, n / HASH_BLOCK);
  if (n % HASH_BLOCK > 0)
    memcpy(s->rest, bytes + n / HASH_BLOCK * HASH_BLOCK, n % HASH_BLOCK);
}

// A one, zeros, and how many bits there were: to the end of a block.
static void finish(struct stream *s, uint8_t sum[SHA256_DIGEST_LENGTH]) {
  enum { LENGTH_BYTES = 8 };
  static const unsigned char pad[2 * HASH_BLOCK] = {0x80};
  unsigned char length[LENGTH_BYTES];
  const uint64_t bits = 8 * s->bytes;
  const size_t held = (size_t)(s->bytes % HASH_BLOCK), end = HASH_BLOCK - LENGTH_BYTES;
  for (int i = 0; i < LENGTH_BYTES; i++)
    length[i] = (unsigned char)(bits >> (56 - 8 * i));
  update(s, pad, held < end ? end - held : end + HASH_BLOCK - held);
  update(s, length, LENGTH_BYTES);
  for (int i = 0; i < SHA256_DIGEST_LENGTH; i++)
    sum[i] = (uint8_t)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

bool hash_is_fast(void) {
  return hash_has_blocks();
}

void hash_sha256_parts_hex(const struct hash_part *parts, int n, char hex[HASH_HEX_BYTES]) {
  uint8_t sum[SHA256_DIGEST_LENGTH];
  struct stream s = {
      .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
  if (!hash_has_blocks()) {
    hash_sha256_plain_hex(parts, n, hex);
    return;
  }
  for (int i = 0; i < n; i++)
    if (parts[i].n > 0)
      update(&s, parts[i].bytes, parts[i].n);
  finish(&s, sum);
  put_hex(sum, hex);
}

void hash_sha256_hex(const void *bytes, size_t n, char hex[HASH_HEX_BYTES]) {
  const struct hash_part whole = {bytes, n};
  hash_sha256_parts_hex(&whole, 1, hex);
}
