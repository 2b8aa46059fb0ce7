// SPDX-License-Identifier: Apache-2.0
// What a plan is made for, and what came of making it: what everybody who makes plans is given and gives back.
#ifndef PLAN_SUBJECT_H
#define PLAN_SUBJECT_H

#include "plan/plan.h"

// The workload a plan is for: what names mean in directives, and what a host entry is called with.
struct plan_symbol {
  const char *name;
  int64_t value;
};
// What an input holds wherever the task is asked, of those for which not any data will do: indices, labels, masks,
// probabilities. Whoever tries a candidate out has to draw them alike.
struct plan_draw {
  const char *kind;          // of the distribution (task/distribution.h): "integers"; NULL: any data will do
  double a, b;               // its parameters
  double scale_lo, scale_hi; // one uniform number in between for the whole tensor, times each element; 1, 1: none
  bool softmax, symmetric, triu, tril, regular, definite; // its modifiers
};
struct plan_subject {
  const char *task, *workload; // for the plan's title
  int n_symbols, n_inputs, n_outputs;
  const struct plan_symbol *symbols; // the task's dimensions
  const char *const *input_names, *const *output_names;
  const struct tensor_type *inputs, *outputs;
  const bool *statics;           // by input: it is a weight, which plans may prepare once; NULL: none is
  const struct plan_draw *draws; // by input; NULL: any data will do for all
  const char *init_arguments;    // python: what the suite makes its module with, "K, N, (N,)"; may be NULL
  // library: the call as JSON (judge/library_call.h), or why there is none. Both NULL: not asked.
  const char *library_call, *library_refusal;
};

// Why there is no plan: the candidate's doing, not the machine's.
enum plan_outcome {
  PLAN_MADE,
  PLAN_REFUSED, // host code did what cannot be recorded, or a directive does not evaluate; detail says what and the way
                // out
  PLAN_HOST_CRASHED, // host code ended by a signal or exited
  PLAN_HOST_TIMED_OUT,
  PLAN_INVALID, // plan_check refused it
  PLAN_RAISED,  // Python code raised an exception, or did not return the task's outputs
};
// Whose kernels a plan launches, where that is not plain.
enum plan_origin { PLAN_OWN, PLAN_LIBRARY, PLAN_PYTORCH, PLAN_ORIGINS };
struct plan_shares {
  bool known;
  int64_t launches[PLAN_ORIGINS], ns[PLAN_ORIGINS]; // as the worker saw it, which shares its process with the candidate
};
struct plan_report {
  enum plan_outcome outcome;
  char detail[512];
  struct plan_shares shares;
  char *log; // what host code printed; heap, may be NULL
};
void plan_report_release(struct plan_report *r);

// Says why there is no plan.
void plan_report_refuse(struct plan_report *r, enum plan_outcome outcome, const char *fmt, ...) ASSAY_PRINTF(3, 4);

// A buffer that the step uses and that has its data in a call only: an input that is no weight, an output. -1: there is
// none, so that the step may prepare.
int plan_call_buffer(const struct plan_step *s, const struct plan_buffer *buffers, const struct plan_subject *subject);

// The title of a plan: task, workload, device and target, in the plan's own arena. False when memory fails.
bool plan_set_title(struct plan *p, const struct plan_subject *subject, const struct plan_device *device,
                    const char *target, const char *toolchain);

#endif
