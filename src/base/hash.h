// SPDX-License-Identifier: Apache-2.0
// SHA-256 (libmd) as hexadecimal text: the identity of sources, tasks and settings in the store.
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>

enum { HASH_HEX_BYTES = 65 };

// 64 lower-case digits and a NUL.
void hash_sha256_hex(const void *bytes, size_t n, char hex[HASH_HEX_BYTES]);

#endif
