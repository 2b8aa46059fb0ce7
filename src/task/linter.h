// SPDX-License-Identifier: Apache-2.0
// Inside the linter: what its two halves share, the one for outputs and the one for outputs that a check judges.
#ifndef TASK_LINTER_H
#define TASK_LINTER_H

#include "oracle/oracle.h"
#include "task/lint_rules.h"

enum { LINT_DRAWS = 3, LINT_MAJORITY = 2 };

// One draw of the inputs and its answer.
struct lint_draw {
  struct array *inputs;
  struct oracle_answer answer; // of task_oracle_graph
};

struct linter {
  const struct task *t;
  const struct workload *w;
  int threads;
  struct arena arena;   // shapes and the lists below
  struct array *shapes; // of the inputs
  struct lint_draw draws[LINT_DRAWS];
  struct lint_report *report;
  struct assay_error *err;
};

struct lint_truth linter_truth(const struct linter *l, int draw, int output);

// Adds a finding about an output of the task's graph and an input (-1: none).
void linter_add(struct linter *l, enum lint_code code, unsigned rules, int output, int input, double worst);

// The findings of a task with a check.
enum assay_status lint_checked(struct linter *l);

#endif
