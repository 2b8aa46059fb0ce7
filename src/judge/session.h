// The state of one judgement, shared by the files that carry it out.
#ifndef JUDGE_SESSION_H
#define JUDGE_SESSION_H

#include "judge/question.h"
#include "judge/timing.h"
#include "toolchain/toolchain.h"

enum { MAX_LAYOUTS = 16, MAX_QUESTIONS = 64 };

// Streams derived from the seed.
enum { STREAM_CHECKS = 1, STREAM_TIMED, STREAM_SECRET, STREAM_PROBE_SHAPES, STREAM_POISON };

struct session {
  const struct assay_judge_options *o;
  struct assay_verdict *v;
  struct task task;
  struct workload workload; // the one that is timed
  struct arena arena;
  char *source, *library;
  size_t source_bytes;
  char *build_folder, *run_folder;
  struct build *build;
  struct runner *runner;
  double overhead_ns; // what the protocol of a call costs, measured before the candidate was loaded; NaN: not measured
  int n_layouts, n_questions, capacity_checks;
  struct layout layouts[MAX_LAYOUTS]; // [0] is the timed workload's
  struct question questions[MAX_QUESTIONS];
  const struct layout *bound;
};

void session_release(struct session *s);

// The candidate failed: its reason and one line. Judging goes on to the record, not to further checks.
void session_decide(struct session *s, enum assay_reason reason, const char *fmt, ...) ASSAY_PRINTF(3, 4);
void session_decide_event(struct session *s, const struct runner_report *r);

// prepare.c: reads the task, fixes what is judged and starts the compiler; then what the compiler made is loaded.
// *good is false when the candidate failed, which the verdict then says.
enum assay_status session_prepare(struct session *s, struct assay_error *err);
enum assay_status session_start_build(struct session *s, struct assay_error *err);
enum assay_status session_finish_build(struct session *s, bool *good, struct assay_error *err);
enum assay_status session_load(struct session *s, bool *good, struct assay_error *err);

// exam.c: questions with the oracle's answers, and the candidate's calls on them.
enum assay_status session_make_exam(struct session *s, struct assay_error *err);
enum assay_status session_take_exam(struct session *s, bool *good, struct assay_error *err);

// Compares outputs with a question's answer and appends the checks. *reason is the first that is not a pass.
enum assay_status session_check(struct session *s, const struct question *q, const void *const *outputs,
                                uint32_t poison, bool timed, enum assay_reason *reason, struct assay_error *err);

// Draws the inputs into the runner's buffers, which are the layout's, and poisons the outputs.
enum assay_status session_fill(struct session *s, const struct layout *l, enum probe probe, uint64_t key,
                               uint32_t poison, struct assay_error *err);

// Makes the layout's buffers the runner's, unless they are.
enum assay_status session_bind(struct session *s, const struct layout *l, struct runner_report *report,
                               struct assay_error *err);

// verify.c: times the candidate, then verifies the calls chosen in secret.
enum assay_status session_time(struct session *s, bool *good, struct assay_error *err);

#endif
