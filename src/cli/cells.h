// SPDX-License-Identifier: Apache-2.0
// Text as a terminal shows it: a character takes no cell, one or two.
#ifndef CLI_CELLS_H
#define CLI_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

// The cells that printable UTF-8 takes.
int cells_width(const char *text);
// How many bytes of it fit into `room` cells; whole characters only. *used: the cells that they take; may be NULL.
size_t cells_fit(const char *text, int room, int *used);
// How many bytes the next line of `text` has when it is wrapped between words at `room` cells; at least one character
// where there is one. *next: where the line after it begins.
size_t cells_line(const char *text, int room, const char **next);

// The columns of a terminal that `to` is; 0 where it is none. $COLUMNS counts more than what the terminal says.
int cells_of_terminal(FILE *to);
// Writes text, and on a terminal wraps its lines between words, so that no number is broken in two. What continues a
// line is indented.
void cells_put(FILE *to, const char *text);
void cells_printf(FILE *to, const char *format, ...) ASSAY_PRINTF(2, 3);

// When output has colours: --color.
enum cli_color { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER };
// AUTO: on a terminal that is not dumb, unless $NO_COLOR is set (no-color.org).
bool cells_are_colored(enum cli_color when, FILE *to);
// What AUTO means from here on, in all output.
void cells_color(enum cli_color when);

#endif
