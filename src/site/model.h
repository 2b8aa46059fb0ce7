// SPDX-License-Identifier: Apache-2.0
// Within src/site: what pages are made of.
#ifndef SITE_MODEL_H
#define SITE_MODEL_H

#include "base/arena.h"
#include "report/rows.h"
#include "score/rank.h"
#include "site/site.h"
#include "store/step.h"

enum { SITE_KEY_BYTES = 17, SITE_ROWS_A_PAGE = 1000, SITE_LANES = 16 };

// One verdict that stands. Strings are the model's; texts are fit to be published (report/publish.h).
struct site_row {
  struct score_row score;   // as stored: its candidate and run are not for pages
  char key[SITE_KEY_BYTES]; // names its page
  const char *candidate, *detail, *gate, *diagnostics_line;
  double error_z, error_limit;
  int64_t at_ns;
  int task, run, device, group; // indices
  struct score_rank rank;       // within its group
  char digest[65];              // of everything stored
};

// Rows of a task that may be ranked together, in the order of their ranks.
struct site_group {
  int first, n; // rows
  int n_ranked, n_failed, n_cheats, n_unstable, n_replaced;
};

// A task that has rows, or that its suite has. Rows and groups of a task stand together.
struct site_task {
  const char *name, *level, *title; // title: "" unknown
  const char *path;                 // its file; NULL: unknown
  const char *category, *kind;      // the suite's category, the kind of its greatest operator (task/kind.h); "" unknown
  int first, n, first_group, n_groups;
  char digest[65];
};

// "kernelbench/1", with the tasks that it has. Tasks of no suite are in a level of their own, of the name "".
struct site_level {
  const char *name, *title;
  int first, n; // tasks
  int n_rows;
};

struct site_run {
  const char *name;       // as stored; "" for single judgements
  const char *title;      // fit to be published, and another run's is different
  const char *method;     // ""
  struct store_cost cost; // of making its kernels
  int n;
};

// Two runs that have a task in common, the older one first.
struct site_pair {
  int a, b; // runs
};

// Makers side by side: runs "NAME, MAKER" (sweep.h).
enum { SITE_SWEEP_MAKERS = 16 };
struct site_sweep {
  const char *name, *title; // title: fit to be published
  int n, runs[SITE_SWEEP_MAKERS];
  const char *makers[SITE_SWEEP_MAKERS]; // likewise
};

struct site_device {
  const char *name; // as score_setting has it, "cuda NVIDIA H200, driver 580.95"
  int n;
};

struct site {
  struct store *store; // borrowed
  const char *tasks_root, *sources;
  struct arena arena, lanes[SITE_LANES]; // lanes: of what threads read
  struct site_row *rows;                 // by task, group, rank
  struct site_task *tasks;               // by name
  struct site_group *groups;
  struct site_level *levels;
  struct site_run *runs;
  struct site_device *devices;
  struct site_pair *pairs;
  struct site_sweep *sweeps;
  int n_rows, n_tasks, n_groups, n_levels, n_runs, n_devices, n_pairs, n_sweeps;
  struct assay_peaks peaks[SITE_MOST_PEAKS];
  int n_peaks;
  size_t rows_capacity;
  char digest[65];            // of all rows
  char style[32], script[32]; // names of the assets
  struct site_file *files;
  int n_files;
  bool is_shared;             // all but `store` and what is held are another's
  struct kernel *held;        // the verdict that was read last (kernel.h); NULL: none
  struct compared *held_pair; // the runs that were compared last (page_pair.c); NULL: none
};

// read.c: rows from the store. index.c: the rest of the model, of the rows. files.c: the list of files.
enum assay_status site_read_rows(struct site *site, struct assay_error *err);
enum assay_status site_index(struct site *site, struct assay_error *err);
enum assay_status site_list_files(struct site *site, struct assay_error *err);

const struct site_task *site_task_of(const struct site *site, const char *name); // NULL: none

// The verdict in a word, and the class that gives it colour and shape ("pass", "unstable", "fail", "cheat", "care",
// "none").
struct site_word {
  const char *class;
  char text[64];
};
struct site_word site_word(const struct site_row *row);

#endif
