// SPDX-License-Identifier: Apache-2.0
// Fenced code blocks as in CommonMark 0.31, section 4.5, where a block of no list or quote is concerned: a fence of at
// least three backticks or tildes, indented by any number of spaces (models put blocks into lists), ended by one at
// least as long, which a sentence or a token in angle brackets may follow and code may stand before ("}```"), or by the
// end of the text. Code may begin in the fence's own line, after the tag, and end there. Two fences that stand further
// in than the block's own belong to a comment.
#ifndef MODEL_FENCE_H
#define MODEL_FENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct fence_block {
  const char *tag; // first word after the fence; not terminated
  size_t tag_len;
  const char *text; // its lines, with their ends
  size_t len;
  size_t indent; // of the fence: as many spaces at most are taken off each line
  bool closed;
};

// The next block at or after *at, which moves behind it; false: there is none.
bool fence_next(const char *text, size_t n, size_t *at, struct fence_block *out);

// Appends the block's lines. A block in a list is indented as its fence is, which is taken off; lines end as they do
// here. Check out->failed.
void fence_lines(const struct fence_block *b, struct buf *out);

#endif
