// SPDX-License-Identifier: Apache-2.0
// A comment line that speaks to Assay: `// assay: ...` in C, `# assay: ...` in Python. Blanks around the mark of a
// comment count for nothing: `//assay:` is the same.
#ifndef BASE_REMARK_H
#define BASE_REMARK_H

#include <stdbool.h>

// What follows the colon in the line, or NULL: it is no such line.
const char *remark_text(const char *p, const char *end, bool *python);
// Where the text of a line ends that goes on in the next one, by a backslash; NULL: it does not.
const char *remark_goes_on(const char *p, const char *end);
// What a line says that goes on from the one before: after its comment's mark, and after `assay:` if that is there
// again; NULL: it is no comment.
const char *remark_rest(const char *p, const char *end, bool python);

#endif
