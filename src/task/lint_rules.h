// SPDX-License-Identifier: Apache-2.0
// Inside the linter: would this answer be taken?
#ifndef TASK_LINT_RULES_H
#define TASK_LINT_RULES_H

#include "ops/op.h"
#include "task/lint.h"

// A right answer with what each rule allows around it. Floating outputs have sigma, others are exact under `contract`.
struct lint_truth {
  const struct array *y;
  const float *sigma; // NULL for integers
  double rtol, atol;  // of LINT_PUBLISHED
  double u_out, eta_out;
};

// Bit i of the result: enum lint_rule i takes `wrong` (elements of the output's kind) as the answer. `contract` is the
// element-wise gate of the real rule alone, which is laxer than a verdict: what passes here may still fail there, never
// the other way round. *worst: largest error over the allowance of LINT_LOOSE.
unsigned lint_accepts(const struct lint_truth *truth, const struct array *wrong, double *worst);

// Element k as a number, whatever the kind.
double lint_number(const struct array *a, int64_t k);

#endif
