// SPDX-License-Identifier: Apache-2.0
#include "base/build_id.h"

#include <stdio.h>
#include <string.h>

bool build_id_matches(const char *theirs, const char *program) {
  if (theirs && strcmp(theirs, build_id) == 0)
    return true;
  if (theirs)
    fprintf(stderr, "%s is of build %s, and assay of %.80s: build and install all programs together\n", program,
            build_id, theirs);
  else
    fprintf(stderr, "%s is started by assay; it is of no use alone\n", program);
  return false;
}
