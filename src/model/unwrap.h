// SPDX-License-Identifier: Apache-2.0
// Private to src/model: a file's text within what lists, writes or carries it: numbers before its lines, a shell's
// here-document, a Python script, a notebook's magic line, a patch that adds it, CDATA.
#ifndef MODEL_UNWRAP_H
#define MODEL_UNWRAP_H

#include "model/extract.h"

enum unwrapped {
  UNWRAP_NOTHING, // it is as it is
  UNWRAP_TAKEN,   // *code is the file, and *how says what it was taken from
  UNWRAP_UNCLEAR, // there is a file, and what it would be cannot be told: *how says why
};

// Only what can be meant in one way is taken. Check code->failed.
enum unwrapped unwrap_code(const struct model_language *l, struct buf *code, const char **how);

// Whether a text is a patch that adds a whole file with the entry point.
bool unwrap_adds_file(const struct model_language *l, const char *text, size_t n);
// Whether it is, or is called, a patch, and none of these.
bool unwrap_is_changes(const struct model_language *l, const char *text, size_t n, bool called);
// Whether a line of the text begins a patch.
bool unwrap_has_patch(const char *text, size_t n);

#endif
