// SPDX-License-Identifier: Apache-2.0
// Base64 (RFC 4648, section 4): how plans carry bytes in JSON.
#ifndef PLAN_BASE64_H
#define PLAN_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

void base64_encode(struct buf *out, const uint8_t *bytes, size_t n);

// How many bytes `n` characters of text stand for; SIZE_MAX when n is not a multiple of 4 (the padding is read).
size_t base64_decoded_size(const char *text, size_t n);

// Fills out[0 .. base64_decoded_size). False when a character is foreign, padding is misplaced, or bits that nobody
// reads are set: a sequence of bytes has exactly one text, so that what was read is written back the same.
bool base64_decode(const char *text, size_t n, uint8_t *out);

#endif
