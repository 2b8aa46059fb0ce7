// SPDX-License-Identifier: Apache-2.0
// What KernelBench-X publishes of its own runs, in a checkout of its repository: the corpus of changes between rounds
// of one method (data/kbx_corpus/all_records.jsonl), and eager PyTorch's times on several GPUs
// (metrics/golden_results).
#ifndef REPORT_KERNELBENCHX_CORPUS_H
#define REPORT_KERNELBENCHX_CORPUS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

// One side of a record. Numbers: NaN where there is none.
struct kernelbenchx_outcome {
  bool call, exe, perf;
  double runtime_ms, gbs, speedup;
};

struct kernelbenchx_record {
  const char *task;       // "Math/sqrt.py"
  const char *transition; // "round_0_to_round_1"
  const char *kind;       // "exe_fail_to_pass,perf_ok_newly"
  bool in_suite;          // a file of that name is in the suite's list (data/kernelbenchx_v1.json)
  bool same_code;         // before and after, but for white space at the ends
  bool has_code;
  struct kernelbenchx_outcome before, after;
};

struct kernelbenchx_corpus {
  struct kernelbenchx_record *records;
  int n, n_suite; // n_suite: tasks of the list; 0: there is no list
  struct arena arena;
};

// checkout: the folder. ASSAY_ERR_NOT_FOUND, _SYNTAX, _INVALID: it is no such file, and the message says where.
enum assay_status kernelbenchx_corpus_read(const char *checkout, struct kernelbenchx_corpus *out,
                                           struct assay_error *err);
void kernelbenchx_corpus_release(struct kernelbenchx_corpus *c);

// A machine's file of one task.
struct kernelbenchx_timing {
  const char *task; // "sqrt"
  int n;
  struct kernelbenchx_timed {
    const char *size; // "input_size" as compact JSON
    double ms, gbs;
  } * rows;
};

struct kernelbenchx_machine {
  const char *name; // "5090"
  int n, n_rows;
  struct kernelbenchx_timing *files;          // by name
  double peak_gbs;                            // of its memory, as its vendor says; NaN: unknown
  const struct kernelbenchx_machine *copy_of; // more than half of its files are those of this one, byte for byte
  int n_copied, rows_above_peak, short_files; // short_files: with fewer rows than another machine has of the task
};

struct kernelbenchx_timings {
  struct kernelbenchx_machine *machines; // by name
  int n;
  struct arena arena;
};

// With the checks done. A folder that is not there has no machines.
enum assay_status kernelbenchx_timings_read(const char *checkout, struct kernelbenchx_timings *out,
                                            struct assay_error *err);
void kernelbenchx_timings_release(struct kernelbenchx_timings *t);

const struct kernelbenchx_timing *kernelbenchx_timing_of(const struct kernelbenchx_machine *m, const char *task);
double kernelbenchx_total_ms(const struct kernelbenchx_timing *t);

// A task's slowest machine over its fastest, by the times of the sizes that all have; copies are left out.
struct kernelbenchx_ratio {
  const char *task;
  double ratio;
  const char *slowest, *fastest;
};
// Heap array, the largest first. False: no memory.
bool kernelbenchx_machine_ratios(const struct kernelbenchx_timings *t, struct kernelbenchx_ratio **out, int *n);

#endif
