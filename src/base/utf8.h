// SPDX-License-Identifier: Apache-2.0
// UTF-8 in bytes of strangers.
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

// The length of the UTF-8 sequence at s (of n bytes), 0 when it is none (RFC 3629: no surrogates, no longer forms).
// Reads no byte beyond the first that does not belong, so that n may be 4 at a text that ends with a zero.
size_t utf8_length(const char *s, size_t n);

// The same, and its character; that is 0 when it is none.
size_t utf8_decode(const char *s, size_t n, uint32_t *character);

#endif
