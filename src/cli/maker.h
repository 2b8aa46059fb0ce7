// SPDX-License-Identifier: Apache-2.0
// Makers of kernels, as `assay compare SUITE --with` puts them side by side. Each is a small file, maker_NAME.c, with
// one row here. It yields a candidate for a shape, and leaves the record of what tuning it cost in the store (trials).
#ifndef CLI_MAKER_H
#define CLI_MAKER_H

#include <stdatomic.h>

#include "base/arena.h"
#include "cli/judging.h"
#include "store/trial.h"

// What a maker is asked: a task at a workload.
struct maker_request {
  struct cli_judging *judging; // options.task and options.workload are set; its options are the maker's to read
  struct store *store;
  const char *suite_run; // of the whole comparison: trials go to a run whose name begins so
  const char *task_name, *task_path, *workload;
  const char *argument; // what stands after the maker's name, "tune:DIR"; "" where nothing does
  const char *folder;   // for files that the maker writes; removed at the end
  const atomic_bool *stop;
};

struct maker_candidate {
  char file[4096];
  char label[4096];     // as stored; a file's own path mostly
  char refusal[256];    // why there is none for this shape; "" where there is one
  bool one_shape;       // it is written for this workload alone: asked nowhere else
  double making_s;      // what making or tuning it took
  char tuning_run[512]; // the run of its trials; ""
};

struct maker {
  const char *name, *argument, *what; // argument: for help, "DIR"; NULL: takes none
  // A refusal is an answer: ASSAY_OK. A status means that the comparison cannot go on.
  enum assay_status (*yield)(const struct maker_request *r, struct maker_candidate *out, struct assay_error *err);
};
#define MAKERS(X) X(eager) X(inductor) X(max_autotune) X(library) X(files) X(tune) X(run)
#define MAKER_DECLARE(name) extern const struct maker maker_##name;
MAKERS(MAKER_DECLARE)
#undef MAKER_DECLARE

// "tune:DIR": the maker and its argument; a path that is there is `files`. ASSAY_ERR_USAGE names the makers.
enum assay_status maker_find(const char *text, const struct maker **out, const char **argument,
                             struct assay_error *err);

// For makers: a baseline that has a name (baseline.c).
enum assay_status maker_baseline(const struct maker_request *r, const char *name, struct maker_candidate *out);
// For makers: the file of a folder (or the file itself) whose `// assay: task` is the request's, the first by name that
// passes `takes` (NULL: any). False: there is none.
bool maker_file_of(const struct maker_request *r, bool (*takes)(const char *source, size_t n), char *file, size_t size);

#endif
