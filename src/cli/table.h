// SPDX-License-Identifier: Apache-2.0
// Text tables, and numbers as people read them.
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/cells.h"

// Cells are copied. A column is as wide as its widest cell.
//
// On a terminal that is too narrow, columns leave the table one after the other until the rest fits: their cells then
// stand on lines of their own below the row, after the column's header; numbers that follow one another share a line.
// The last column goes first and the first one stays, unless table_fold() names others, in their order. What still does
// not fit is cut, and stands whole below the row. Where there is no terminal, a row is one line, however long.
struct table;
struct table *table_create(const char *const *headers, int columns, const char *align); // align: 'l' or 'r' a column
void table_row(struct table *t, const char *const *cells);
// label: stands before the cell on its own line; or "". usual: a cell that is not worth a line; or "", as "-" always
// is.
void table_fold(struct table *t, int column, const char *label, const char *usual);
// Lines for below the last row, where anything of the table is folded; elsewhere they are not shown.
void table_note(struct table *t, const char *text);

enum table_style { TABLE_PLAIN, TABLE_GOOD, TABLE_DOUBTFUL, TABLE_BAD };
void table_style(struct table *t, int column, enum table_style style); // of the last row's cell
void table_color(struct table *t, enum cli_color when);                // AUTO by default

bool table_print(const struct table *t, FILE *to); // whether something was folded
bool table_render(const struct table *t, int room, bool color,
                  FILE *to);                          // room: cells of a line; 0: as many as it takes
void table_markdown(const struct table *t, FILE *to); // all columns, as a table of Markdown
void table_destroy(struct table *t);                  // NULL is fine

// "12.3 us", or "-" for NaN and infinity. `text` has room for 32 bytes and is returned.
const char *cli_time_text(double ns, char *text);
const char *cli_count_text(double n, const char *unit, char *text); // "1.2 GFLOP"

#endif
