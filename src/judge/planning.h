// SPDX-License-Identifier: Apache-2.0
// From a candidate's source to its launch plan for a workload: what judging and `assay plan save` share.
#ifndef JUDGE_PLANNING_H
#define JUDGE_PLANNING_H

#include "assay/judge.h"
#include "judge/question.h"
#include "toolchain/program.h"

// A candidate's source, and with what and for what it is built. All of it is borrowed.
struct planning_build {
  const char *source;
  size_t n;
  struct builder *builder; // NULL: one of its own
  const char *folder, *target;
};
// How to build the candidate of these options; o's strings are borrowed, the arena gets more. ASSAY_ERR_USAGE when its
// file is not for o->device.
enum assay_status planning_options(const struct assay_judge_options *o, const struct planning_build *b,
                                   struct arena *arena, struct program_options *out, struct assay_error *err);

// The plan for a layout of the task. report->outcome says whether there is one.
enum assay_status planning_make(struct program *program, const struct task *t, const struct layout *l, struct plan *out,
                                struct plan_report *report, struct assay_error *err);

// Layouts whose plans will be asked for (program_expect).
enum assay_status planning_expect(struct program *program, const struct task *t, const struct layout *layouts, int n,
                                  struct assay_error *err);

// The whole way, without a device: builds o->candidate for `target` and makes its plan for o->task under o->workload.
// *why (ASSAY_OK, no plan): the candidate's failure, for the user; the caller frees *diagnostics. *made says which.
enum assay_status planning_save(const struct assay_judge_options *o, const char *target, struct plan *out, bool *made,
                                char why[512], char **diagnostics, struct assay_error *err);

#endif
