// SPDX-License-Identifier: Apache-2.0
// Which build a program belongs to. The layout of messages between assay and the programs that it starts is in the
// headers of their build. A program of another build would misread them.
#ifndef BASE_BUILD_ID_H
#define BASE_BUILD_ID_H

#include <stdbool.h>

// "0.1.0-9f86d081884c": the version, and a hash of those headers (CMakeLists.txt). assay passes it to each program that
// it starts.
extern const char build_id[];

// Whether `theirs` is our build. If not, prints on stderr, as `program`, what to do.
bool build_id_matches(const char *theirs, const char *program);

#endif
