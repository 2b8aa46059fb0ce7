// SPDX-License-Identifier: Apache-2.0
// What stands in replies without being meant: marks of editors, terminals and web pages.
#ifndef MODEL_TIDY_H
#define MODEL_TIDY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

// The text without byte order marks, characters of no width and terminal escapes; spaces of other kinds are spaces, and
// lines that end in CR alone end in LF. So are tokens that end a reply ("<|im_end|>"). It is never longer. Check
// out->failed.
void tidy_text(const char *text, size_t n, struct buf *out);

// Whether code has the characters of HTML ("&lt;", "&amp;&amp;") in the place of its own.
bool tidy_is_escaped(const char *code, size_t n);
// Puts its own characters into their place.
void tidy_unescape(struct buf *code);

#endif
