// SPDX-License-Identifier: Apache-2.0
// Makers of kernels, as `assay compare SUITE --with` puts them side by side. Each is one small file, maker_NAME.c,
// which the build finds: the list of makers and its help come of these files. It yields a candidate for a shape, and
// leaves the record of what tuning it cost in the store (trials).
#ifndef CLI_MAKER_H
#define CLI_MAKER_H

#include <stdatomic.h>

#include "base/arena.h"
#include "cli/judging.h"
#include "makers.h" // written by CMake: MAKERS(X), a word for each maker_NAME.c
#include "store/trial.h"

// What a maker is asked: a task at a workload.
struct maker_request {
  struct cli_judging *judging; // options.task and options.workload are set; its options are the maker's to read
  struct store *store;
  const char *maker_run; // of its verdicts: trials go to that name with ", tuning" after it, and the seed if not 1
  const char *task_name, *task_path, *workload;
  bool one_task;        // no other task is compared: a file that is named by itself can be for no other
  const char *argument; // what stands after the maker's name, "tune:DIR"; "" where nothing does
  const char *folder;   // for files that the maker writes; removed at the end
  int seeds;            // orders of its search, for a maker that has one
  int seconds;          // which end a search; 0: as many as it takes
  bool retime;          // whether the points of its curve are judged in full
  const atomic_bool *stop;
};

struct maker_candidate {
  char file[4096];
  char label[4096];  // as stored; a file's own path mostly
  char refusal[256]; // why there is none for this shape; "" where there is one
  bool cut_off;      // with a refusal: by the user's interrupt, so that the same command goes on
  bool one_shape;    // it is written for this workload alone: asked nowhere else
  int64_t verdict;   // of its making, in the store, asked what the comparison asks; 0: it is to be judged
  double making_s;   // what making or tuning it took, whenever that was
};

struct maker {
  const char *name, *argument, *what; // argument: for help, "DIR", or "[DIR]" where it may be missing; NULL: takes none
  const char *log; // the format (tune/log.h) of what its candidates print of their tuning; NULL: nothing
  // Whether the argument means anything, before any shape is asked; NULL: it always does. ASSAY_ERR_USAGE says what
  // does.
  enum assay_status (*check)(const char *argument, struct store *store, struct assay_error *err);
  // A refusal is an answer: ASSAY_OK. A status means that the comparison cannot go on.
  enum assay_status (*yield)(const struct maker_request *r, struct maker_candidate *out, struct assay_error *err);
};
#define MAKER_DECLARE(name) extern const struct maker maker_##name;
MAKERS(MAKER_DECLARE)
#undef MAKER_DECLARE

// "tune:DIR": the maker and its argument; a path that is there is `files`. ASSAY_ERR_USAGE names the makers.
enum assay_status maker_find(const char *text, const struct maker **out, const char **argument,
                             struct assay_error *err);

// A line for each maker: "eager  PyTorch, operator by operator".
void maker_list(struct buf *out);

// For makers: a baseline that has a name (baseline.c).
enum assay_status maker_baseline(const struct maker_request *r, const char *name, struct maker_candidate *out);
// For makers: the file of a folder (or the file itself) whose `// assay: task` is the request's, the first by name that
// passes `takes` (NULL: any); where there is none, the first without such a line that is called like the task or as
// KernelBench calls its files. False: there is none.
bool maker_file_of(const struct maker_request *r, bool (*takes)(const char *source, size_t n), char *file, size_t size);
// For makers: such a file is the candidate, under its own path; else the refusal says that no file `what`.
void maker_take_file(const struct maker_request *r, bool (*takes)(const char *source, size_t n), const char *what,
                     struct maker_candidate *out);
// For makers: kernels/fusedops/NAME next to the tasks, where the kernels that come with Assay are.
void maker_own_folder(const struct maker_request *r, const char *name, char *folder, size_t size);
// For makers, as `check`: the folder or file is there, or none is named.
enum assay_status maker_check_path(const char *argument, struct store *store, struct assay_error *err);
// For makers: asks a library's own kernel, `word` is the library (docs/baselines.md).
enum assay_status maker_library_of(const struct maker_request *r, const char *word, struct maker_candidate *out,
                                   struct assay_error *err);

#endif
