// SPDX-License-Identifier: Apache-2.0
// UTF-8 in bytes of strangers.
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>

// The length of the UTF-8 sequence at s (of n bytes), 0 when it is none (RFC 3629: no surrogates, no longer forms).
size_t utf8_length(const char *s, size_t n);

#endif
