// Private to src/cli: the parts of `assay bench`. bench_list.c says what is to be judged, bench_run.c does it, bench.c
// has the command line and the results.
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include <stdatomic.h>

#include "cli/cli.h"

enum { BENCH_MAX_ONLY = 32 };

// One candidate: a file as it is, or with a twin's macro.
struct bench_item {
  const char *path, *label; // label: as stored, "relu.cu -DTAIL"
  const char *define;       // the twin's macro or NULL
  const char *expect;       // reason codes separated by |, or NULL
  const char *task, *task_path;
  const char *device;
  char hash[65];
};

struct bench {
  struct cli_judging judging;
  const char *suite, *from, *run;
  bool twins;
  const char *only[BENCH_MAX_ONLY];
  int n_only;
  struct store *store;
  struct arena arena; // of the items
  struct bench_item *items;
  size_t n_items, capacity_items;
  atomic_bool stop;    // set by the watcher: finish what is being judged, then end
  atomic_flag printed; // the results are, or somebody is at it
  int n_judged, n_passed, n_done_before, n_elsewhere, n_left_out;
  int64_t elapsed_ns, building_ns, testing_ns; // testing: a candidate was on the device
  bool ahead;                                  // candidates were built beside the judging of others
};

// Fills items: every candidate of the folder that belongs to the suite, sorted by file, twins behind all files.
enum assay_status bench_list(struct bench *b, struct assay_error *err);

// Judges what is not finished, in order. Candidates for a GPU are built and their questions answered some ahead, by
// other threads, while one is on the device.
enum assay_status bench_run(struct bench *b, struct assay_error *err);

#endif
