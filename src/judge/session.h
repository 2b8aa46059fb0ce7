// The state of one judgement, shared by the files that carry it out.
#ifndef JUDGE_SESSION_H
#define JUDGE_SESSION_H

#include "judge/question.h"
#include "judge/subject.h"
#include "judge/timing.h"
#include "toolchain/toolchain.h"

enum { MAX_LAYOUTS = 16, MAX_QUESTIONS = 64 };

// Streams derived from the seed.
enum { STREAM_CHECKS = 1, STREAM_TIMED, STREAM_SECRET, STREAM_PROBE_SHAPES, STREAM_POISON, STREAM_BANDS };

struct session {
  const struct assay_judge_options *o;
  struct assay_verdict *v;
  struct task task;
  struct workload workload; // the one that is timed
  struct arena arena;
  char *source;
  size_t source_bytes;
  char *build_folder, *run_folder;
  const struct subject_ops *subject;
  void *state;                    // the subject's
  struct device_buffers *buffers; // of a subject that has such: its own, since its start
  char weakness[200];             // what of the isolation could not be had for this candidate
  double overhead_ns; // what the protocol of a call costs, measured before the candidate was loaded; NaN: not measured
  double queueing_ns; // what of timing.wall_ns can be the host's work before the device begins
  int n_layouts, n_questions, capacity_checks;
  int n_dropped_exams;                // each exam has questions of its own
  struct layout layouts[MAX_LAYOUTS]; // [0] is the timed workload's
  struct question questions[MAX_QUESTIONS];
  const struct layout *bound;
  struct timed_call *kept; // timed calls to be verified
  int n_kept, kept_slots;
};

void session_release(struct session *s);

// judge.c: assay_judge_begin with a subject of the caller's choice. For tests: subject_process on the device cpu is a
// process like one with a GPU, over ordinary memory, which no option of a user's leads to.
enum assay_status judge_begin_as(const struct assay_judge_options *o, const struct subject_ops *subject,
                                 struct assay_job **out, struct assay_error *err);

// A job that stays after its exam, to be called again (baseline.h). *good: it passed. What it left on its
// device goes with judge_leave.
enum assay_status judge_keep(struct assay_job *job, bool *good, struct assay_error *err);
void judge_leave(struct assay_job *job);
struct session *judge_session(struct assay_job *job);

// The candidate failed: its reason and one line. Judging goes on to the record, not to further checks.
void session_decide(struct session *s, enum assay_reason reason, const char *fmt, ...) ASSAY_PRINTF(3, 4);
void session_decide_event(struct session *s, const struct runner_report *r);

// prepare.c: reads the task and the source and fixes what is judged.
enum assay_status session_prepare(struct session *s, struct assay_error *err);
enum assay_status session_read_source(struct session *s, struct assay_error *err);
// What came of building goes into the verdict, which takes over the result's strings but `library`.
void session_take_build(struct session *s, struct build_result *r, bool *good);

// exam.c: questions with the oracle's answers, and the candidate's calls on them.
enum assay_status session_make_exam(struct session *s, struct assay_error *err);
enum assay_status session_take_exam(struct session *s, bool *good, struct assay_error *err);
// Forgets questions and checks; the next exam asks others.
void session_drop_exam(struct session *s);

// Compares outputs with a question's answer and appends the checks. *reason is the first that is not a pass.
enum assay_status session_check(struct session *s, const struct question *q, const void *const *outputs,
                                uint32_t poison, bool timed, enum assay_reason *reason, struct assay_error *err);

// The same for the call that was just made, whose outputs lie in the subject's buffers.
enum assay_status session_check_now(struct session *s, const struct question *q, uint32_t poison, bool timed,
                                    enum assay_reason *reason, struct assay_error *err);

// Makes the layout's buffers the subject's, unless they are.
enum assay_status session_bind(struct session *s, const struct layout *l, struct runner_report *report,
                               struct assay_error *err);

// verify.c: times the candidate, and keeps the calls that are chosen in secret (large ones are verified at once); then
// verifies those that were kept, for which neither candidate nor device are needed.
enum assay_status session_time(struct session *s, bool *good, struct assay_error *err);
enum assay_status session_verify(struct session *s, bool good, struct assay_error *err);

#endif
