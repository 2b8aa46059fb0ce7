// SPDX-License-Identifier: Apache-2.0
// A reply that was cut off, and the rest of it that was asked for.
#ifndef MODEL_JOIN_H
#define MODEL_JOIN_H

#include "base/buf.h"
#include "base/error.h"

// Appends the rest to a text whose last code block is open. Models are asked to go on where they stopped; what they do
// in addition is taken off: a new fence for the block that is open, with what they say before it, and what they repeat
// of the text's end. ASSAY_ERR_NOMEM.
enum assay_status model_join(struct buf *text, const char *rest, size_t n, struct assay_error *err);

#endif
