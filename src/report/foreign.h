// SPDX-License-Identifier: Apache-2.0
// Reading JSON of other programs (base/foreign_json.h) with jansson: its functions' arguments and results; their
// numbers; and their names of files.
#ifndef REPORT_FOREIGN_H
#define REPORT_FOREIGN_H

#include <jansson.h>

json_t *foreign_loadb(const char *text, size_t n, size_t flags, json_error_t *where);
json_t *foreign_load_file(const char *path, size_t flags, json_error_t *where);

// An object's number; NaN where it is none.
double foreign_number(const json_t *object, const char *name);

// What is behind the last slash of a path, of either kind.
const char *foreign_last_part(const char *path);

#endif
