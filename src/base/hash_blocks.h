// SPDX-License-Identifier: Apache-2.0
// Within src/base: SHA-256's compression by the processor's own instructions (FIPS 180-4, section 6.2.2).
#ifndef BASE_HASH_BLOCKS_H
#define BASE_HASH_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HASH_BLOCK = 64 };

bool hash_has_blocks(void);

// `n` blocks into the state. Only where hash_has_blocks().
void hash_blocks(uint32_t state[8], const unsigned char *bytes, size_t n);

#endif
