// SPDX-License-Identifier: Apache-2.0
// The state of one judgement, shared by the files that carry it out.
#ifndef JUDGE_SESSION_H
#define JUDGE_SESSION_H

#include "judge/draws.h"
#include "judge/form.h"
#include "judge/load.h"
#include "judge/question.h"
#include "judge/streams.h"
#include "judge/subject.h"
#include "judge/timing.h"
#include "task/shapes.h"

enum { MAX_LAYOUTS = 16, MAX_QUESTIONS = 64 };

struct session {
  const struct assay_judge_options *o;
  struct form_choice choice; // the strings of `o`, parsed
  struct assay_verdict *v;
  struct task task;
  struct workload workload; // the one that is timed
  struct arena arena;
  char *source;
  size_t source_bytes;
  char *build_folder, *run_folder;
  const struct subject_ops *kind; // which kind of subject is used
  struct subject *subject;        // NULL: not created yet, or closed
  bool loaded;                    // loading was tried, so the candidate may have left something on the device
  int announced;                  // 1 + the last step that was reported as progress; 0: none
  char weakness[200];             // which isolation is missing for this candidate; "": none
  struct load_look load;          // before the candidate was loaded
  int64_t oom_kills;              // load_oom_kills, before it was built
  unsigned lost;                  // sandbox_lost, likewise
  double overhead_ns;             // as in struct subject_loaded
  double queueing_ns;             // as in struct stamps_facts
  double hot_high_ns;             // as in struct timing_session
  double hot_floor_ns;            // the floor of calls whose inputs and outputs may be in the cache; NaN: unknown
  int n_layouts, n_shapes, n_questions, capacity_checks;
  int n_without_room;                  // questions beyond MAX_QUESTIONS
  int order[MAX_QUESTIONS], n_counted; // the order of asking; the questions that decide whether it passes come first
  struct draws draws;                  // of tasks whose numbers are of chance
  int n_dropped_exams;                 // part of each exam's keys, so that no two exams ask the same
  struct shape_ranges ranges;          // what may be drawn
  struct workload shapes[ASSAY_MOST_SHAPES]; // drawn; their layouts follow the timed workload's
  struct layout layouts[MAX_LAYOUTS];        // [0] is the timed workload's
  struct question questions[MAX_QUESTIONS];
  const struct question *asked; // the last one; NULL: none yet
  struct timed_call *kept;      // timed calls to be verified, in some of the slots
  int kept_slots;
};

// Whether the candidate has not failed so far: the reason is still PASS.
bool session_is_good(const struct session *s);

// Whether the candidate has used up its budget of time; then *report is that event.
bool session_overdrawn(const struct session *s, struct runner_report *report);
// What is left of the budget, INT64_MAX without one.
int64_t session_left_ns(const struct session *s);

void session_release(struct session *s);

// Where answers are kept for the next judgement: nowhere unless all that it asks was fixed beforehand.
static inline struct assay_answers *session_answers(const struct session *s) {
  return s->o->seed && s->o->secret ? s->o->answers : NULL;
}

// judge.c: assay_judge_begin with a given subject (NULL: the form's). Tests use it to run subject_process on the device
// cpu: a process like one that has a GPU, but over ordinary memory. No option of a user selects that.
enum assay_status judge_begin_as(const struct assay_judge_options *o, const struct subject_ops *subject,
                                 struct assay_job **out, struct assay_error *err);

// Tests a job's candidate and keeps it loaded, to be called again (baseline.h). judge_leave then frees what it left on
// the device.
enum assay_status judge_keep(struct assay_job *job, struct assay_error *err);
void judge_leave(struct assay_job *job);
struct session *judge_session(struct assay_job *job);

// Records that the candidate failed: the reason and one line of detail. Further checks are then skipped.
void session_decide(struct session *s, enum assay_reason reason, const char *fmt, ...) ASSAY_PRINTF(3, 4);
enum assay_reason session_event_reason(const struct runner_report *r);
void session_decide_event(struct session *s, const struct runner_report *r);

// The steps of a judgement (`road` in judge.c), by file. Each reads its input from the session and stores its result
// there.
//
// prepare.c: reads the task, the workload and the source, and hashes what is judged.
enum assay_status session_prepare(struct session *s, struct assay_error *err);
enum assay_status session_read_source(struct session *s, struct assay_error *err);
// Moves the result of building into the verdict, with its strings.
void session_take_build(struct session *s, struct build_result *r);

// exam.c: chooses questions and has the oracle answer them; then calls the candidate on each.
enum assay_status session_make_exam(struct session *s, struct assay_error *err);
enum assay_status session_take_exam(struct session *s, struct assay_error *err);
// Where only the judged shape counts: asks the other questions, which decide the scope.
enum assay_status session_look_elsewhere(struct session *s, struct assay_error *err);
// Forgets questions and checks. The next exam asks other questions.
void session_drop_exam(struct session *s);

// verify.c: times the candidate and keeps the outputs of secretly chosen calls (large ones are verified at once).
// session_verify then verifies the kept ones; it needs neither the candidate nor the device.
enum assay_status session_time(struct session *s, struct assay_error *err);
enum assay_status session_verify(struct session *s, struct assay_error *err);

// blame.c: ASSAY_ERR_ENVIRONMENT where a Python candidate did not come to run, and this machine lacks what its source
// asks for.
enum assay_status session_blame_machine(struct session *s, struct assay_error *err);

// Compares outputs with a question's answer, which is then released, and appends the checks. *reason: of the first
// output that fails, else PASS.
enum assay_status session_check(struct session *s, struct question *q, const void *const *outputs, uint32_t poison,
                                bool timed, enum assay_reason *reason, struct assay_error *err);

// The same for the last call, whose outputs are in the subject's buffers.
enum assay_status session_check_now(struct session *s, struct question *q, uint32_t poison, bool timed,
                                    enum assay_reason *reason, struct assay_error *err);

#endif
