// SPDX-License-Identifier: Apache-2.0
// Private to src/toolchain: one run of assay-recorder.
#ifndef TOOLCHAIN_RECORD_RUN_H
#define TOOLCHAIN_RECORD_RUN_H

#include "toolchain/program_private.h"
#include "toolchain/record/format.h"

struct record_options {
  const char *recorder;                // path of assay-recorder
  const char *library;                 // what nvcc made, in the folder
  const char *folder;                  // which the recorder may read
  const char *target;                  // "sm_90a"
  const char *source_name, *toolchain; // for the plan's module and title
  int64_t timeout_ns;
  size_t memory_bytes; // of the process; 0: no limit
};

// Runs the library's entry for a workload, in a sandboxed process without device and data, and makes the plan of what
// it asked for. All that host code does wrong is in the report; a status other than ASSAY_OK means that the machine
// failed (no recorder, no seccomp, no memory).
enum assay_status record_run(const struct record_options *o, const struct plan_subject *subject, struct plan *out,
                             struct plan_report *report, struct assay_error *err);

// The two files that a recorder is handed: a request, sealed, and an empty log. fds: both; -1 where one is not made.
enum assay_status record_make_files(const struct record_request *request, size_t bytes, int fds[2],
                                    struct assay_error *err);

#endif
