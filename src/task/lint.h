// SPDX-License-Identifier: Apache-2.0
// The linter: would a shortcut pass this task? It asks the oracle for the answers to a few draws of a workload and
// offers wrong answers in their place: zeros, a constant, a straight line through one of the inputs, the right answer
// in the wrong order, the answer to another draw, and answers made with one input replaced. A wrong answer that a rule
// takes is a finding. It measures what it is given and extrapolates nothing: a shortcut that only works at larger
// shapes shows only there.
#ifndef TASK_LINT_H
#define TASK_LINT_H

#include "task/task.h"

// X(enumerator, code, what is accepted or wrong, what to do)
#define LINT_CODES(X)                                                                                                  \
  X(ZEROS, "zeros", "an output of zeros is accepted", "give the inputs a scale at which the outputs matter")           \
  X(CONSTANT, "constant", "an output that is the same number everywhere is accepted",                                  \
    "spread the inputs so that outputs differ from their mean")                                                        \
  X(INPUT, "input", "one of the inputs is accepted as the output", "draw inputs that the operator changes")            \
  X(AFFINE, "affine", "a fixed straight line through one of the inputs is accepted",                                   \
    "draw inputs beyond the operator's linear part, or of a scale that changes from draw to draw")                     \
  X(SHUFFLED, "shuffled", "the right values in the wrong order are accepted", "make neighbouring outputs differ")      \
  X(OTHER_DRAW, "other_draw", "the answer to another draw is accepted",                                                \
    "make the answer depend on the draw, for example by a scale drawn anew")                                           \
  X(INSENSITIVE, "insensitive", "an answer that ignores one of the inputs is accepted",                                \
    "give that input a scale at which it matters")                                                                     \
  X(CONSTANT_OUTPUT, "constant_output", "the right output is the same number everywhere",                              \
    "check the graph: an operator may cancel another")                                                                 \
  X(ONE_SIDED, "one_sided", "an elementwise task whose inputs never change sign",                                      \
    "draw signed inputs, so that both branches are seen")                                                              \
  X(OPEN_CASTS, "open_casts", "the answer depends on casts of what an integer type cannot hold",                       \
    "draw values that the type holds: kernels may wrap, or take the nearest")                                          \
  X(FEW_SHAPES, "few_shapes", "fewer than three shapes can be drawn that stand in no workload",                        \
    "say in assay.shapes which extents may change")

enum lint_code {
#define LINT_ENUM(name, code, text, advice) LINT_##name,
  LINT_CODES(LINT_ENUM)
#undef LINT_ENUM
      LINT_CODE_COUNT
};
const char *lint_code_name(enum lint_code c);
const char *lint_code_text(enum lint_code c);
const char *lint_code_advice(enum lint_code c);

// The rules that a wrong answer is offered to. `contract` and `published` (allclose with the task's own tolerances)
// decide verdicts; `loose` is allclose at 1e-2, which suites have used.
enum lint_rule { LINT_CONTRACT, LINT_PUBLISHED, LINT_LOOSE, LINT_RULE_COUNT };
const char *lint_rule_name(enum lint_rule r);

enum { LINT_MAX_FINDINGS = 512, LINT_TEXT_BYTES = 448 };

struct lint_finding {
  enum lint_code code;
  unsigned rules;             // bit i: enum lint_rule i takes the wrong answer; 0 where no rule is involved
  int output, input;          // which ones; -1 where the finding is not about one
  double worst;               // largest |wrong - right| / (atol + rtol |right|) at 1e-2, over the draws: below 1 passes
  double y_low, y_high;       // range of the right output
  bool allowed;               // assay.lint.allow names this code
  char text[LINT_TEXT_BYTES]; // one line with the measured numbers
};

struct lint_report {
  const char *workload;
  int draws, n_findings, n_open; // open: not allowed; also counts those for which there was no room
  struct lint_finding findings[LINT_MAX_FINDINGS];
};

// Lints the form in force of a task on one workload (NULL: small). A finding needs most of the draws to agree.
// Statuses of the oracle and ASSAY_ERR_NOMEM; deterministic for a key.
enum assay_status lint_task(const struct task *t, const struct workload *w, uint64_t key, int threads,
                            struct lint_report *out, struct assay_error *err);

// Whether a value of assay.lint.allow reads "code: reason; code: reason". ASSAY_ERR_SYNTAX, _INVALID.
enum assay_status lint_check_allow(const char *text, struct assay_error *err);

#endif
