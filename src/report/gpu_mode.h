// SPDX-License-Identifier: Apache-2.0
// Results and problems in GPU MODE's form. Results: for each submission a file as its runners write it (result.json),
// with the runs "test" and "benchmark". What a case is stands in the task, as tools/importer made it of a problem:
// gpu_mode.tests and gpu_mode.benchmarks, JSON lists of {workload, case}.
#ifndef REPORT_GPU_MODE_H
#define REPORT_GPU_MODE_H

#include "report/task_files.h"
#include "store/store.h"
#include "task/task.h"

struct gpu_mode_export {
  int submissions, cases;
  int unjudged;      // cases at whose workload the submission was not judged: left out
  int untested;      // submissions judged at no test, or at nothing, if the problem has none: they have no file
  int without_place; // verdicts whose task's file is not found, or is not made of a problem
};

// FOLDER/PROBLEM/SUBMISSION.json of the run's verdicts, of each task, candidate and workload the newest. What failed at
// a workload that is none of the problem's cases is a case of its own, "workload: small". A problem without tests has
// no run "test". The file of an earlier export is removed where a submission has none now.
// ASSAY_ERR_NOT_FOUND: no such run.
enum assay_status gpu_mode_write_run(struct store *s, const char *run, const struct task_files_where *where,
                                     const char *folder, struct gpu_mode_export *out, struct assay_error *err);

// The task as a problem, FOLDER/PROBLEM/task.yml and the files that it names, replaced if there: the kept one (made by
// tools/importer), or a case for each workload, full as the benchmark, with the graph in PyTorch as ref_kernel.
// ASSAY_ERR_UNSUPPORTED: an operator has no translation.
enum assay_status gpu_mode_write_task(const struct task *t, const char *folder, struct assay_error *err);

#endif
