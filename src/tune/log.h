// SPDX-License-Identifier: Apache-2.0
// Trials that other tuners leave in their logs. Each format is a file of its own, log_NAME.c, with one row here.
//
//   helion      HELION_AUTOTUNE_LOG's CSV, whose first line names its columns: timestamp_s, status, perf_ms,
//               compile_time_s, config, and others
//   helion_text what its search prints: "[43s] Generation 1 complete: error=25 ok=79 min=0.1161 ... best=Config(...)"
//   inductor    what max-autotune logs: "AUTOTUNE mm(...)", a line for each choice, "benchmarking takes X seconds and Y
//               seconds precompiling for N choices"
//   inductor_descent  what Inductor logs of a fused kernel's blocks: "= Do coordinate descent tuning for F =", "Try
//               config ..."
//   triton      the JSON that Triton's autotuner caches (TRITON_CACHE_AUTOTUNING): "configs_timings"
//   triton_text what TRITON_PRINT_AUTOTUNING prints: "Triton autotuning for function F", "finished after Xs",
//               "best config selected: ...": a run as a whole, and what it tried
//   published   gpu,operator,shape,tuner,seconds,configs,notes: the tuning runs of KernelGeneration's logs, as a whole;
//               and gpu,operator,backend,shape,latency_ms,...: its results
//
// A log is a stranger's: lines that are not understood are left out, and limits hold.
#ifndef TUNE_LOG_H
#define TUNE_LOG_H

#include <stddef.h>

#include "store/trial.h"

// Where in the text a line names the columns of a Helion log; NULL: nowhere.
const char *tune_log_helion_head(const char *text);

enum { TUNE_LOG_MOST_BYTES = 64 << 20, TUNE_LOG_MOST_TRIALS = 1 << 20 };

// What a log does not say itself; "" where that is for the log to say.
struct tune_log_about {
  const char *run, *task, *workload, *device, *file;
};

// Takes one trial; strings are borrowed for the call.
typedef enum assay_status tune_log_put(void *arg, const struct store_trial *t, struct assay_error *err);

struct tune_log_reader {
  const struct tune_log_about *about;
  tune_log_put *put;
  void *arg;
  int64_t n; // trials so far
};

struct tune_log_format {
  const char *name;
  bool printed; // lines among others, not a file of its own
  bool (*is)(const char *text, size_t n);
  enum assay_status (*read)(struct tune_log_reader *r, const char *text, size_t n, struct assay_error *err);
};
#define TUNE_LOG_FORMATS(X)                                                                                            \
  X(helion) X(helion_text) X(inductor) X(inductor_descent) X(triton) X(triton_text) X(published)
#define TUNE_LOG_DECLARE(name) extern const struct tune_log_format tune_log_##name;
TUNE_LOG_FORMATS(TUNE_LOG_DECLARE)
#undef TUNE_LOG_DECLARE
#define TUNE_LOG_NAMED(name) " " #name
#define TUNE_LOG_NAMES TUNE_LOG_FORMATS(TUNE_LOG_NAMED) // " helion inductor ..."

struct tune_log {
  const char *format; // NULL: by what is in it
  const char *text;   // text[n] is NUL
  size_t n;
};

// Reads a log; without a format, all tuners' lines in what was printed. Trials of each maker are numbered from 0.
// ASSAY_ERR_USAGE: no format that is known; ASSAY_ERR_SYNTAX: nothing in it is a trial.
enum assay_status tune_log_read(const struct tune_log *log, const struct tune_log_about *about, tune_log_put *put,
                                void *arg, int64_t *trials, struct assay_error *err);

// ---- for the formats

// A trial with what the reader knows; numbers count up, times are NaN.
struct store_trial tune_log_trial(const struct tune_log_reader *r, const char *maker);
// Passes it on. ASSAY_ERR_LIMIT: too many.
enum assay_status tune_log_emit(struct tune_log_reader *r, const struct store_trial *t, struct assay_error *err);

// Cells of a CSV's line, quotes taken off, into `line`, which is changed. Returns how many; further ones are left out.
int tune_log_cells(char *line, char **cells, int most);
// The next line of the text as a copy in `line` (longer ones are cut); false at the end.
bool tune_log_line(const char **p, const char *end, char *line, size_t size);
bool tune_log_starts(const char *text, size_t n, const char *with);

#endif
