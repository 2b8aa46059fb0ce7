// SPDX-License-Identifier: Apache-2.0
// Text that a stranger has had a hand in, a candidate, a task's author, who named a file, before it goes to a terminal
// or into JSON.
#ifndef BASE_PRINTABLE_H
#define BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Replaces in place what is neither printable nor a line's end or a tab: control characters (terminals obey them, the
// C1 range included), marks of direction, characters that show nothing, and bytes that are not UTF-8 (JSON has no place
// for them).
void printable(char *text);

// Whether a character (of Unicode, from U+0080 on) shows nothing, so that two names look alike or a text has more in it
// than a reader sees, or changes how it or the rest is shown: what Unicode lets fonts ignore (joiners, selectors of
// variants, tags, fillers), marks of direction, separators of lines, controls.
bool printable_misleads(uint32_t character);

// printable() of a copy that is one line: line ends and tabs are spaces. Returns out; what does not fit is cut.
const char *printable_line(const char *text, char *out, size_t size);

#endif
