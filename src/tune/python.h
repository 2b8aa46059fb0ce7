// SPDX-License-Identifier: Apache-2.0
// As much of Python as it takes to know where a statement ends, and what it assigns to.
#ifndef TUNE_PYTHON_H
#define TUNE_PYTHON_H

#include <stdbool.h>

// The end of the statement at p: a `;` or a line's end that is in no brackets, no text and after no backslash, or
// `end`.
const char *python_statement_end(const char *p, const char *end);

// Whether the statement [p, stop) is "NAME = ", "NAME: int = ", "A, NAME = " or "A = NAME = ".
bool python_assigns(const char *p, const char *stop, const char *name);

// Whether it begins with a word such as `if` or `class`: what follows a `;` in its line does not always hold.
bool python_is_compound(const char *p, const char *stop);

#endif
