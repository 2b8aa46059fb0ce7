// SPDX-License-Identifier: Apache-2.0
// SHA-256 as hexadecimal text: the identity of sources, tasks and settings in the store. Nettle's, which uses the
// processor's instructions where there are any: a site hashes all of its store.
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>

enum { HASH_HEX_BYTES = 65 };

// 64 lower-case digits and a NUL.
void hash_sha256_hex(const void *bytes, size_t n, char hex[HASH_HEX_BYTES]);

// The same of several parts, one after the other.
struct hash_part {
  const void *bytes; // may be NULL where n is 0
  size_t n;
};
void hash_sha256_parts_hex(const struct hash_part *parts, int n, char hex[HASH_HEX_BYTES]);

// The same of parts that `next` hands out until it returns false: a file that is read piece by piece.
typedef bool hash_next_fn(void *arg, struct hash_part *part);
void hash_sha256_pull_hex(hash_next_fn *next, void *arg, char hex[HASH_HEX_BYTES]);

#endif
