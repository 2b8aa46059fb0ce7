// Text tables, and numbers as people read them.
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdio.h>

// Cells are copied. A column is as wide as its widest cell; the last one is cut at the edge of the terminal.
struct table;
struct table *table_create(const char *const *headers, int columns, const char *align); // align: 'l' or 'r' a column
void table_row(struct table *t, const char *const *cells);
void table_print(const struct table *t, FILE *to);
void table_destroy(struct table *t); // NULL is fine

// "12.3 us", or "-" for NaN and infinity. `text` has room for 32 bytes and is returned.
const char *cli_time_text(double ns, char *text);
const char *cli_count_text(double n, const char *unit, char *text); // "1.2 GFLOP"

#endif
