// Which build a program is of: what assay and the programs that it starts say to each other is laid out as the headers
// of their build have it, and a program of another build would misread it.
#ifndef BASE_BUILD_ID_H
#define BASE_BUILD_ID_H

#include <stdbool.h>

// "0.1.0-9f86d081884c": the version, and a hash of those headers (CMakeLists.txt). assay hands it over when it starts a
// program.
extern const char build_id[];

// Whether `theirs` is ours; else says on stderr, as `program`, what to do.
bool build_id_matches(const char *theirs, const char *program);

#endif
