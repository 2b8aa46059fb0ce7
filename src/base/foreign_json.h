// SPDX-License-Identifier: Apache-2.0
// JSON as other programs write it: after a byte order mark, as editors do; with NaN and Infinity, which are no JSON, as
// Python does.
#ifndef BASE_FOREIGN_JSON_H
#define BASE_FOREIGN_JSON_H

#include "base/buf.h"

// Appends it as JSON: without the mark; those words as texts ("NaN"), or as `instead` where that is not NULL.
void foreign_json(const char *text, size_t n, const char *instead, struct buf *out);

#endif
