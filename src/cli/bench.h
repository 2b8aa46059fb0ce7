// SPDX-License-Identifier: Apache-2.0
// Private to src/cli: the parts of `assay bench`. bench_list.c lists the candidates, bench_run.c judges them,
// bench_unjudged.c keeps those that could not be judged, bench.c has the command line and prints the results.
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "base/arena.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/judging.h"
#include "cli/sheet.h"

enum { BENCH_MAX_ONLY = 32 };

// One candidate: a file, with a twin's macro or without.
struct bench_item {
  const char *path, *label; // label: as stored, "relu.cu -DTAIL"
  const char *define;       // the twin's macro or NULL
  const char *expect;       // reason codes separated by |, or NULL
  const char *task, *task_path, *workload;
  const struct form *form;
  char hash[65];
};

// A file without a verdict. It could not be judged here: what stands in the way is its owner's or the machine's
// business, not the candidate's, and the same command judges it once that is put right. Or it is not for --device. It
// is shown, and nothing of it is stored.
struct bench_unjudged {
  const char *task, *label, *expect; // task: "" where nothing says it
  const char *workload;              // or the pattern that was asked for
  const char *why;
  enum assay_status status;
  bool other_device;
};

struct bench {
  struct cli_judging judging;
  const char *suite, *from, *run;
  const char *again_reason; // --again: of which verdicts; NULL: of all
  bool twins, again;
  enum cli_format format;
  const char *only[BENCH_MAX_ONLY];
  int n_only;
  struct store *store;
  struct arena arena; // of the items
  char **tasks;       // of the suite, while the candidates are listed
  int n_tasks;
  struct bench_item *items;
  size_t n_items, capacity_items;
  struct bench_unjudged *unjudged;
  size_t n_unjudged, capacity_unjudged, n_failed_here; // failed_here: without those for other devices
  struct cli_interrupt interrupt;
  atomic_flag printed; // the results are printed, or being printed
  int n_judged, n_passed, n_done_before, n_elsewhere, n_left_out;
  int n_same;                                // files with the text of another one, whose verdict they share
  int64_t start_ns, building_ns, testing_ns; // testing: while a candidate was on the device
  int64_t elapsed_ns;                        // 0: it is not over
  bool ahead;                                // candidates were built while others were judged
};

// Fills items: every candidate of the folder or the file that belongs to the suite, sorted by file, twins after all
// files.
enum assay_status bench_list(struct bench *b, struct assay_error *err);

// Notes that an item was not judged, and why; clears *why. ASSAY_ERR_NOMEM only.
enum assay_status bench_leave_unjudged(struct bench *b, const struct bench_item *item, struct assay_error *why,
                                       struct assay_error *err);
// The same for an item that is for another device than --device.
enum assay_status bench_leave_to_device(struct bench *b, const struct bench_item *item, const char *device,
                                        struct assay_error *err);
void bench_unjudged_row(const struct bench *b, const struct bench_unjudged *u, struct table *table);
json_t *bench_unjudged_json(const struct bench *b, const struct bench_unjudged *u);
int bench_unjudged_code(const struct bench *b); // the exit code: CLI_PASS when there are none

// Judges what is not finished, in order. While one candidate is on a GPU, other threads build the next ones and compute
// the oracle's answers for them.
enum assay_status bench_run(struct bench *b, struct assay_error *err);

#endif
