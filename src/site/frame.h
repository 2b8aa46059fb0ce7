// SPDX-License-Identifier: Apache-2.0
// What all pages share: head, bars, breadcrumbs, foot; tables; cells.
#ifndef SITE_FRAME_H
#define SITE_FRAME_H

#include <stdio.h>

#include "report/html.h"
#include "score/figure.h"
#include "site/model.h"

struct frame_crumb {
  const char *text;
  struct address at;
};

struct frame {
  const struct address *at;
  const char *title;       // the page's one h1
  const char *description; // one sentence, for search engines and previews
  int n_crumbs;            // from below the overview to the page above this one
  struct frame_crumb crumbs[3];
  bool csv, json; // the page's data
  bool search;    // needs data/search.js
};

// Everything up to and with the h1; and the end of the page, with links to its data.
void frame_begin(struct html *w, struct buf *out, const struct site *site, const struct frame *f);
void frame_end(struct html *w, const struct frame *f);

struct address frame_kernel(const struct site_row *row);
struct address frame_task(const struct site_task *task);
struct address frame_level(const struct site_level *level);
struct address frame_run(const struct site_run *run);
struct address frame_sweep(const struct site_sweep *sweep);
struct address frame_pair(const struct site *site, const struct site_pair *pair);
struct address frame_device(const struct site_device *device);
struct address frame_data(const struct address *page, enum address_format format);

// A paragraph, and a sentence for what is not there.
// What stands between two backticks is shown as code.
void frame_note(struct html *w, const char *text);
void frame_empty(struct html *w, const char *text);
// A text that may have names in it. Names have no spaces: where a line is full they break after their marks before they
// break anywhere, but keep a short ending.
void frame_name(struct html *w, const char *text);
void frame_heading(struct html *w, const char *id, const char *text);

// A table in a region that scrolls and takes the focus. `name` is its place in the page's address ("main"); NULL: it is
// short and neither sorts nor filters. The first cell of each row is its head.
struct frame_column {
  const char *text;
  char align; // 'l', 'r', or 'w': text that wraps
};
struct frame_table {
  const char *name, *label;
  const struct frame_column *columns;
  int n, at; // at: the cell that is next
};
void table_begin(struct html *w, struct frame_table *t);
void table_row_begin(struct html *w, struct frame_table *t, const char *class); // NULL: none
void table_row_end(struct html *w, struct frame_table *t);
void table_end(struct html *w, struct frame_table *t);
// Between them what is in a cell. `value`: what it sorts by, NULL: its text; NaN sorts last.
void table_cell_begin(struct html *w, struct frame_table *t, const char *value);
void table_cell_end(struct html *w, struct frame_table *t);
void table_text(struct html *w, struct frame_table *t, const char *text);
void table_int(struct html *w, struct frame_table *t, int64_t n);
void table_number(struct html *w, struct frame_table *t, double x, int decimals); // "-" where there is none
void table_ratio(struct html *w, struct frame_table *t, double x); // three digits, at most two after the point
void table_link(struct html *w, struct frame_table *t, const struct address *to, const char *text);
void table_verdict(struct html *w, struct frame_table *t, const struct site_row *row);
// "611.2 +-0.4", in the unit, with as many digits as the interval allows.
void table_time(struct html *w, struct frame_table *t, double ns, const struct interval *in,
                const struct score_unit *unit);

void frame_word(struct html *w, const struct site_word *word);
// "11.59 us +-0.27 us" of a time by itself; "not measured".
void frame_time(struct html *w, double ns, const struct interval *in);

// A list of facts: a term, then what is known of it.
void facts_begin(struct html *w);
void facts_text(struct html *w, const char *term, const char *text); // nothing where it is NULL or empty
void facts_printf(struct html *w, const char *term, const char *fmt, ...) ASSAY_PRINTF(3, 4);
void facts_end(struct html *w);

// Room for a text made of names, which others give and nothing bounds. What is longer yet is cut.
enum { FRAME_TEXT = 4096 };

// The device without what a title has no place for: "NVIDIA H200".
const char *frame_device_text(const char *device, char *text, size_t size);
// "NVIDIA H200, full, as published", what rows of a group have in common.
const char *frame_setting_text(const struct score_setting *s, char *text, size_t size);

// "1 task", "12 tasks".
enum { FRAME_COUNT = 48 };
const char *frame_count(int n, const char *one, char text[FRAME_COUNT]);

#endif
