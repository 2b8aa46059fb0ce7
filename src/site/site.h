// SPDX-License-Identifier: Apache-2.0
// The leaderboard as pages: a model made once of the store, and functions that make one page of it into a buffer. What
// writes them to a folder (folder.h) and what serves them call the same. Pages depend on nothing but the store, the
// tasks' files and the candidates' files: no time, no locale, no order of hashing.
#ifndef SITE_SITE_H
#define SITE_SITE_H

#include "assay/judge.h"
#include "base/buf.h"
#include "report/address.h"
#include "store/store.h"

struct site;

enum { SITE_MOST_PEAKS = 8 };

struct site_options {
  const char *tasks;               // the folder of suites: titles, graphs, what is missing; NULL: without them
  const struct assay_peaks *peaks; // measured, a device once (SITE_MOST_PEAKS at most); NULL: none
  int n_peaks;
  const char *sources; // a folder with candidates' files, where those at their stored places are gone; NULL: none
};

// Reads the verdicts that stand (store_each_standing) of all runs, and the single judgements. The store must stay open
// as long as the model: pages of kernels read their evidence when they are made. ASSAY_ERR_NOMEM and the store's.
enum assay_status site_collect(struct store *s, const struct site_options *o, struct site **out,
                               struct assay_error *err);
void site_release(struct site *site); // NULL is fine

// A second reader of the same model, for another thread; it makes the same files. It is released before the model is.
// ASSAY_ERR_NOMEM and the store's.
enum assay_status site_share(const struct site *site, struct site **out, struct assay_error *err);

// One file of the site: a page, or its data.
struct site_file {
  struct address at; // strings are the model's
  char name[ADDRESS_BYTES];
  int item; // the model's own
};

// All files, sorted by name, each once; the model's own.
const struct site_file *site_files(const struct site *site, int *n);
// The file of that name; NULL: there is none. Names need no checking before.
const struct site_file *site_find(const struct site *site, const char *name);

// Makes one file: HTML, CSV, JSON or JavaScript in UTF-8, a style, a script. Threads have readers of their own
// (site_share). The three files of a verdict, or of two runs compared, cost least one after the other.
enum assay_status site_make(struct site *site, const struct site_file *file, struct buf *out, struct assay_error *err);

// What a file is made of, as a hash: equal hashes mean equal files. 64 digits and a NUL.
enum assay_status site_hash(struct site *site, const struct site_file *file, char hex[65], struct assay_error *err);

// For a message and a page's head.
struct site_size {
  int verdicts, tasks, runs, devices;
};
struct site_size site_size(const struct site *site);

#endif
