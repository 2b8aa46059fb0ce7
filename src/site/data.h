// SPDX-License-Identifier: Apache-2.0
// Within src/site: values in the pages' data.
#ifndef SITE_DATA_H
#define SITE_DATA_H

#include "base/buf.h"
#include "base/error.h"

// A JSON string that is also safe within a script: nothing in it ends a script or a line of it.
void data_json_text(struct buf *out, const char *s);
void data_json_number(struct buf *out, double x); // null for what is no number

// Rows of named columns as CSV or JSON: data_begin(); then for each row its cells in order, and data_end_row();
// data_end().
struct data_table {
  struct buf *out;
  bool csv;
  const char *const *names;
  int n, at, rows;
};
void data_begin(struct data_table *t);
void data_text(struct data_table *t, const char *text); // NULL: none
void data_number(struct data_table *t, double x);       // what is no number: none
void data_end_row(struct data_table *t);
void data_end(struct data_table *t);

struct site;
struct site_file;
// Of two runs, task by task (page_pair.c).
enum assay_status pair_data(struct site *site, const struct site_file *f, struct data_table *t,
                            struct assay_error *err);

// Of makers side by side, every verdict (page_sweep.c).
enum assay_status sweep_data(struct site *site, const struct site_file *f, struct data_table *t,
                             struct assay_error *err);

#endif
