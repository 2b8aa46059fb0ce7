// SPDX-License-Identifier: Apache-2.0
// The files of flashinfer-bench, and of SOL-ExecBench, which is a dialect of it: verdicts as Traces and back, tasks as
// Definitions with Workloads. tools/importer reads Definitions, Workloads and Solutions (it needs PyTorch for them).
//
// A task that was made of a Definition keeps it under the key flashinfer_bench.definition, each of its workloads under
// flashinfer_bench.workload.NAME, and the numbers that they pass under flashinfer_bench.scalars: JSON texts all.
#ifndef REPORT_FLASHINFER_H
#define REPORT_FLASHINFER_H

#include <jansson.h>

#include "base/buf.h"
#include "report/task_files.h"
#include "report/view.h"
#include "store/store.h"
#include "task/task.h"

enum { FLASHINFER_MOST_BYTES = 1 << 30, FLASHINFER_MOST_LINE_BYTES = 64 << 20 };

// Which program is to read it: statuses and members differ.
enum flashinfer_dialect { FLASHINFER_BENCH, FLASHINFER_SOL };

// The task as a Definition: the kept one, or its interface with the graph in PyTorch as its reference. A new reference;
// NULL on failure. ASSAY_ERR_UNSUPPORTED: there is no translation of an operator, or an input is of a type that the
// format lacks.
enum assay_status flashinfer_definition(const struct task *t, json_t **out, struct assay_error *err);
// The workload of that name as a Workload: the kept one, or one that draws every input. A new reference.
enum assay_status flashinfer_workload(const struct task *t, const struct workload *w, json_t **out,
                                      struct assay_error *err);
// FOLDER/definitions/OP/NAME.json and FOLDER/workloads/OP/NAME.jsonl, replaced if there. *workloads: how many.
enum assay_status flashinfer_write_task(const struct task *t, const char *folder, int *workloads,
                                        struct assay_error *err);

// The evaluation of a Trace: what the verdict says in their words, and the rest under "extra". The view is one of
// view_whole_from_store(). A new reference; NULL: no memory.
json_t *flashinfer_evaluation(const struct verdict_view *view, enum flashinfer_dialect dialect);

// A part of a path: everything but letters, digits, '.', '-' and '_' becomes '_'.
void flashinfer_file_name(const char *text, struct buf *out);

// What was written, for a message.
struct flashinfer_export {
  int definitions, traces, passed, failed;
  int without_time;  // passes that were not timed: the format has no place for them
  int without_place; // verdicts whose task's file is not found
};

// Writes the run's verdicts, of each task, candidate and workload the newest, as Traces:
// FOLDER/traces/assay/OP/NAME.jsonl, a file a definition, replaced if there. A verdict that came from a Trace
// (flashinfer_read) is that Trace again. ASSAY_ERR_NOT_FOUND: no such run.
enum assay_status flashinfer_write_run(struct store *s, const char *run, enum flashinfer_dialect dialect,
                                       const struct task_files_where *where, const char *folder,
                                       struct flashinfer_export *out, struct assay_error *err);

// Whether the text's first line is a Trace.
bool flashinfer_is_traces(const char *text, size_t len);
// Stores the Traces of such a text as verdicts of a new run, all or none; workloads without an evaluation are passed
// over. *n: how many verdicts. Their times rank nothing: another protocol took them. ASSAY_ERR_INVALID for what is no
// Trace, with the number of the line; ASSAY_ERR_USAGE where the store has a run of that name.
enum assay_status flashinfer_read(struct store *s, const char *run, const char *text, size_t len, int64_t *n,
                                  struct assay_error *err);

#endif
