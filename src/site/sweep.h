// SPDX-License-Identifier: Apache-2.0
// Within src/site: a comparison of makers (`assay compare SUITE --with`), found by its runs' names: "NAME, MAKER".
// Their tuners' trials are in "NAME, MAKER, tuning", and "... tuning 2" of a second order.
#ifndef SITE_SWEEP_H
#define SITE_SWEEP_H

#include "site/frame.h"

// Finds the site's comparisons: names that runs of two makers or more have. ASSAY_ERR_NOMEM.
enum assay_status sweeps_make(struct site *site, struct assay_error *err);
// Adds what the comparisons' pages show to a digest: verdicts at all workloads, and trials.
enum assay_status sweeps_digest(struct site *site, struct buf *all, struct assay_error *err);

// A verdict of a maker's. The site's rows have one for each task and candidate; here every workload has its own.
struct sweep_cell {
  const char *task, *workload, *device, *candidate, *hash, *detail;
  int maker, age; // age: its place among the sweep's verdicts, higher is newer
  enum assay_reason reason;
  bool right, unstable;                   // right: and its time, if it has one, is not suspicious
  double time_ns, floor_ns, flops, bytes; // NaN: none
  double making_s;                        // of torch.compile, by its own clock, or of its tuner's trials; 0: none known
  bool cut;                               // the verdict does not say how the kernel was built
  struct interval time;
};

// One shape on one device; of each maker its newest verdict there, as `assay compare` shows it, else NULL.
struct sweep_shape {
  const char *task, *workload, *device;
  double flops, bytes;
  const struct sweep_cell *cells[SITE_SWEEP_MAKERS];
  int winner; // the least time; -1: nobody has one
};

// All that the page shows of verdicts; strings and arrays are the arena's.
struct sweep {
  const struct site_sweep *of;
  struct arena arena;
  struct sweep_cell *cells;
  int n_cells;
  size_t capacity;
  int n_read;                 // verdicts, those included that a newer one of the same candidate has replaced
  struct sweep_shape *shapes; // by task, device and size
  int n;
  int looks[SITE_SWEEP_MAKERS]; // of each maker's line in all charts, from 1: who is fastest most often comes first
  bool failed;
};
enum assay_status sweep_read(struct site *site, const struct site_sweep *of, struct sweep *out,
                             struct assay_error *err);
void sweep_release(struct sweep *s);
double sweep_time(const struct sweep_cell *c);  // NaN: none that counts
double sweep_best(const struct sweep_shape *s); // the winner's; NaN
// Whether the maker is the winner, or its time cannot be told from the winner's: intervals that lie apart by no more
// than two judgements of one kernel differ by (score_resolution).
bool sweep_is_fastest(const struct sweep_shape *s, int maker);

// The parts of the page (sweep_parts.c): what each maker came to, the curves of its tuners, and one file on several
// devices.
void sweep_put_makers(struct html *w, struct site *site, const struct sweep *s);
void sweep_put_portability(struct html *w, const struct sweep *s);
enum assay_status sweep_put_curves(struct html *w, struct site *site, const struct site_sweep *s,
                                   struct assay_error *err);
// Adds to the cells what their tuners' trials took.
enum assay_status sweep_read_making(struct site *site, struct sweep *s, struct assay_error *err);

#endif
