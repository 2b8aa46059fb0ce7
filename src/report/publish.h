// SPDX-License-Identifier: Apache-2.0
// What of a verdict may be published: texts of the judging machine, without its paths.
#ifndef REPORT_PUBLISH_H
#define REPORT_PUBLISH_H

#include "base/arena.h"

// The text with every absolute path (two names or more; in quotes also with spaces) cut to ".../" and its last name:
//   gcc -I /home/ann/assay/include 'my dir/x.c' '/tmp/a b/c.c'   gcc -I .../include 'my dir/x.c' '.../c.c'
// In the arena; NULL: no memory. NULL becomes "".
const char *publish_text(struct arena *arena, const char *text);

// The name of a candidate as stored: its file without folders, with the twin's macro ("relu.c -DZEROS"). Borrowed.
const char *publish_candidate(const char *candidate);

#endif
