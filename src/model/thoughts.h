// SPDX-License-Identifier: Apache-2.0
// What a model thought before it answered, where its server left that in the reply.
#ifndef MODEL_THOUGHTS_H
#define MODEL_THOUGHTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

// The reply without its thoughts: <think>...</think> and its like; gpt-oss' channels but the final one. A thought
// without an end goes to the end of the text: *unfinished is where it begins, n where there is none. An end without a
// beginning (the prompt's template had it) begins with the text. Check out->failed.
void thoughts_leave_out(const char *reply, size_t n, struct buf *out, size_t *unfinished);

#endif
