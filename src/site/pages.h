// SPDX-License-Identifier: Apache-2.0
// Within src/site: the pages, one file each, and what several of them are made of.
#ifndef SITE_PAGES_H
#define SITE_PAGES_H

#include "score/summary.h"
#include "site/frame.h"

// Each writes the whole page. `item` is an index into the model's array of its kind.
enum assay_status page_index(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err);
enum assay_status page_level(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err);
enum assay_status page_task(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err);
enum assay_status page_run(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err);
enum assay_status page_sweep(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err);
enum assay_status page_pair(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err);
void pair_let_go(struct site *site); // forgets the comparison that is held
enum assay_status page_device(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err);
enum assay_status page_cheats(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err);
enum assay_status page_search(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err);
enum assay_status page_read(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err);
enum assay_status page_kernel(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err);

// The same rows as data, for the page whose file it is. Listed fields only.
enum assay_status data_make(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err);
// All rows as columns, for the page that searches them.
enum assay_status data_search(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err);

// How many pages n rows need, and which of them stand on page p (0 and 1: the first).
int pages_of(int n);
void pages_range(int n, int p, int *first, int *end);
// "Page 2 of 3" with links; nothing where there is one page.
void pages_links(struct html *w, const struct address *at, int n);

// --- rows as a table (rows_table.c)

enum { ROWS_RANK = 1, ROWS_TASK = 2, ROWS_RUN = 4, ROWS_DEVICE = 8, ROWS_ERROR = 16, ROWS_NO_TIME = 32 };
struct rows_table {
  const char *name, *label;
  unsigned columns;
  const char *baseline; // NULL: no column for it
};
void rows_table(struct html *w, const struct site *site, const struct rows_table *t, const struct site_row *const *rows,
                int n);

// The baseline that most of the rows were compared with; NULL: none.
const char *rows_baseline(const struct score_row *const *rows, int n);

// --- what ranks together on a level (sections.c)

struct section {
  struct score_setting at;
  char title[FRAME_TEXT];
  const struct score_row **rows; // those of the level at this setting
  int n;
  const char *baseline; // NULL: none
  struct score_task *tasks;
  int n_tasks; // all of the level: those without rows count as failed
  struct score_summary sum;
};
struct sections {
  const struct score_row **rows;
  struct section *items; // the one that says most first
  int n;
};
enum assay_status sections_make(const struct site *site, const struct site_level *level, struct sections *out,
                                struct assay_error *err);
void sections_release(struct sections *s);
bool section_has_curve(const struct section *s); // of fast_p

// fast_p of the section's runs; a sentence where it has no curve.
enum assay_status put_curves(struct html *w, const struct site *site, const struct site_level *level,
                             const struct section *s, const char *id, struct assay_error *err);

// --- tasks by the kind of their greatest operator (kinds.c)

struct kinds {
  const char *name, *label; // of the table
  bool category;            // with the suite's category
  const struct score_row *const *rows;
  int n;
  struct score_question question;
  const struct site_task *const *tasks; // all that count; those without rows as failed
  int n_tasks;
};
enum assay_status kinds_table(struct html *w, const struct kinds *k, struct assay_error *err);

// "asked 100 > builds 90 > right 80 > faster than torch.eager 20"
void put_funnel(struct html *w, const struct score_funnel *f, const char *baseline);

#endif
