// SPDX-License-Identifier: Apache-2.0
// Prompts are text files with places to fill in, so that a user can copy and change them.
//
//   {{name}}                 the value
//   {{#name}} ... {{/name}}  only where the value is not empty; may be nested
//   {{^name}} ... {{/name}}  only where it is empty
//   {{>file}}                another text of the same folder, file.txt
//   {{>*name}}               the text that the value names
//   {{! ... }}               nothing: a comment
//
// A line that holds nothing but a mark other than a value leaves no empty line.
#ifndef METHOD_TEMPLATE_H
#define METHOD_TEMPLATE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

struct template_value {
  const char *name, *value; // value: NULL is ""
};

// Renders folder/name.txt. ASSAY_ERR_NOT_FOUND, or ASSAY_ERR_SYNTAX with file and line: an unknown name (the known ones
// are listed), a section without an end.
enum assay_status template_render(const char *folder, const char *name, const struct template_value *values,
                                  int n_values, struct buf *out, struct assay_error *err);

// Whether there is a folder/name.txt.
bool template_exists(const char *folder, const char *name);

// All texts of the folder, one after the other by name: what a run's prompts depend on. ASSAY_ERR_NOT_FOUND.
enum assay_status template_gather(const char *folder, struct buf *out, struct assay_error *err);

#endif
