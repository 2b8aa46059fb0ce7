// SPDX-License-Identifier: Apache-2.0
// Rows for tests of scores: right, with a time, in one setting, unless a test says otherwise.
#ifndef TESTS_SCORE_ROWS_H
#define TESTS_SCORE_ROWS_H

#include <math.h>

#include "score/row.h"

static inline struct score_row score_row_of(const char *task, const char *candidate, double time_ns) {
  return (struct score_row){.task = task,
                            .suite = "kernelbench",
                            .level = "kernelbench/1",
                            .category = "",
                            .operator_kind = "",
                            .run = "r",
                            .method = "",
                            .candidate = candidate,
                            .candidate_hash = candidate,
                            .setting = {.device = "cuda NVIDIA H200",
                                        .workload = "full",
                                        .form = "default",
                                        .contract = "",
                                        .rule = "contract",
                                        .judge = "0.1.0"},
                            .judged = true,
                            .reason = ASSAY_REASON_PASS,
                            .cheat = "",
                            .time_ns = time_ns,
                            .time = {time_ns, time_ns},
                            .floor_ns = NAN,
                            .flops = NAN,
                            .bytes = NAN};
}

static inline struct score_row score_failed_row(const char *task, const char *candidate, enum assay_reason reason) {
  struct score_row r = score_row_of(task, candidate, NAN);
  r.reason = reason;
  return r;
}

#endif
