// SPDX-License-Identifier: Apache-2.0
// KernelBench-X's files of results: metrics.json (an entry a file, with the stages call, exe and perf) and
// summary.json, as its unified_results.py writes them; and its files of reference timings.
#ifndef REPORT_KERNELBENCHX_H
#define REPORT_KERNELBENCHX_H

#include "report/kernelbenchx_sizes.h"
#include "store/store.h"

// How far a candidate came, as the suite has it. PERF here: right and timed at every size of the ladder.
enum kernelbenchx_stage { KERNELBENCHX_NONE, KERNELBENCHX_CALL, KERNELBENCHX_EXE, KERNELBENCHX_PERF };
const char *kernelbenchx_stage_name(enum kernelbenchx_stage stage); // "call", "exe", "perf"; "fails"

// The workload of verdicts that were a file's entries.
#define KERNELBENCHX_IMPORTED "suite"

// A verdict at one size.
struct kernelbenchx_row {
  bool there;
  enum assay_reason reason;
  bool right;
  double ms, flops, bytes; // NaN: none
  char why[160];           // where it is not right
};

// The newest verdict at a workload that is none of the sizes (small, a shape of one's own): it can only fail.
enum { KERNELBENCHX_MOST_OTHERS = 8 };
struct kernelbenchx_other {
  char workload[64], why[256];
  bool called, right;
};

// One candidate for one task, with the newest verdict at each size.
struct kernelbenchx_result {
  struct kernelbenchx_ladder ladder;
  char candidate[256];
  struct kernelbenchx_row *rows; // ladder.n
  struct kernelbenchx_other others[KERNELBENCHX_MOST_OTHERS];
  int n_others;
  bool called, right, timed; // at every workload that was judged; timed: at every size
  int n_right, n_timed;      // sizes
  double total_ms;           // of the timed sizes
  json_t *entry;   // of a run that was imported: what its file has, which goes by `candidate`; NULL: judged here
  char error[320]; // of the first that failed
};

struct kernelbenchx_results {
  struct kernelbenchx_result *items;
  int n, capacity;
  const char *tasks; // the folder
  enum assay_status status;
  struct assay_error *err;
};

// The run's candidates for tasks of the suite. Of several for one task, the one that came furthest, then the fastest.
// Sorted by file. ASSAY_ERR_NOT_FOUND: there is none.
enum assay_status kernelbenchx_collect(struct store *s, const char *run, const char *tasks,
                                       struct kernelbenchx_results *out, struct assay_error *err);
void kernelbenchx_results_release(struct kernelbenchx_results *r);
enum kernelbenchx_stage kernelbenchx_stage(const struct kernelbenchx_result *r);

// What times are compared with: a folder of reference timings (golden_results/MACHINE, a file STEM.json for each task),
// or a run of the store.
struct kernelbenchx_baseline {
  const char *folder;
  const struct kernelbenchx_results *run; // or this
};

// The reference's milliseconds at each size; NaN: none.
void kernelbenchx_baseline_rows(const struct kernelbenchx_baseline *b, const struct kernelbenchx_ladder *l, double *ms);

// ASSAY_ERR_SYNTAX, _INVALID: a file of the folder is none. ASSAY_ERR_NOT_FOUND: it has none for any of the results.
enum assay_status kernelbenchx_check_baseline(const struct kernelbenchx_baseline *b,
                                              const struct kernelbenchx_results *r, struct assay_error *err);

struct kernelbenchx_export {
  int files, call, exe, perf, with_speedup, incomplete; // incomplete: right, and not timed at every size
};

// Writes FOLDER/NAME/metrics.json and summary.json. b: NULL for no speedups. Entries of an imported run are written as
// they were read, and the summary counts what they say.
enum assay_status kernelbenchx_write(const struct kernelbenchx_results *r, const struct kernelbenchx_baseline *b,
                                     const char *folder, const char *name, struct kernelbenchx_export *out,
                                     struct assay_error *err);

// A file as their harness judged it (metrics.json) and as the run did.
struct kernelbenchx_pair {
  char file[128];
  bool there, here;
  enum kernelbenchx_stage said;  // there
  int rows, rows_matched, sizes; // there: rows of timings (-1: not said), those that are sizes of the ladder; 0 unknown
  double runtime_ms, speedup;    // there; NaN: none
  char error[200];               // there
  const struct kernelbenchx_result *ours;
};

// Whether both judged it and disagree on exe. Theirs counts as right where exe_ok is.
bool kernelbenchx_differ(const struct kernelbenchx_pair *p);

// Reads a metrics.json, and pairs its files with the results (which must stay). Heap array. ASSAY_ERR_SYNTAX, _INVALID.
enum assay_status kernelbenchx_compare(const struct kernelbenchx_results *r, const char *path,
                                       struct kernelbenchx_pair **pairs, int *n, struct assay_error *err);

// What a file of results is: an entry of the first file decides.
enum kernelbenchx_file { KERNELBENCHX_OTHER, KERNELBENCHX_METRICS, KERNELBENCHX_SUMMARY };
enum assay_status kernelbenchx_file_of(const char *path, enum kernelbenchx_file *form, struct assay_error *err);

// Of a summary.json, and those of them that reached each stage from call on. ASSAY_ERR_INVALID: more than all, or no
// numbers.
struct kernelbenchx_summary {
  int total, passed[3];
};
enum assay_status kernelbenchx_read_summary(const char *path, struct kernelbenchx_summary *out,
                                            struct assay_error *err);

// How far the entry of a file says that it came. ASSAY_ERR_INVALID: it is none.
enum assay_status kernelbenchx_stage_of(const char *path, const char *file, const json_t *entry,
                                        enum kernelbenchx_stage *said, struct assay_error *err);
// Whether two names are of one file: a category or the ending may be missing, and letters' case makes no difference.
bool kernelbenchx_same_file(const char *a, const char *b);

// Stores the entries of a metrics.json as verdicts of a new run, all or none; *n: how many. Their workload is "suite",
// a time the sum of theirs where they have a row for every size. Such times rank nothing: another protocol took them.
// `tasks`: the folder. ASSAY_ERR_SYNTAX, _INVALID; ASSAY_ERR_USAGE where the store has a run of that name.
enum assay_status kernelbenchx_read_run(struct store *s, const char *run, const char *tasks, const char *path,
                                        int64_t *n, struct assay_error *err);

#endif
