// SPDX-License-Identifier: Apache-2.0
// The candidate under examination, whatever it is written in and wherever it runs: a process on the CPU
// (subject_cpu.c), a launch plan on a device (subject_plan.c), or a process that has a GPU (subject_process.c).
//
// A subject knows its environment (struct subject_env), but neither the questions nor the verdict. It returns what it
// finds; exam.c and timing.c put that into the verdict.
#ifndef JUDGE_SUBJECT_H
#define JUDGE_SUBJECT_H

#include "device/monitor.h"
#include "device/turn.h"
#include "judge/form.h"
#include "judge/question.h"
#include "judge/stamps.h"
#include "runner/runner.h"
#include "toolchain/toolchain.h"

enum call_mode {
  CALL_COLD, // inputs and outputs are in no cache
  CALL_HOT,
  CALL_AS_CALLED, // cold, timed with the host's part of launching; only where has_as_called
};

// What a subject is made from. All of it is borrowed and outlives the subject.
struct subject_env {
  const struct assay_judge_options *options;
  const struct form_choice *choice; // the options' strings, parsed
  const struct task *task;
  const char *source;
  size_t source_bytes;
  const char *build_folder, *run_folder; // empty; nobody else uses them
  struct arena *arena;
  uint64_t secret; // of the judgement
};

// The result of loading.
struct subject_loaded {
  struct runner_report report; // its event is not RUNNER_OK: the candidate failed
  double overhead_ns;          // cost of the protocol of a call, measured without the candidate; NaN: not measured
  char device[160];            // name and driver; "": the CPU
  bool not_a_gpu;              // the device's times say nothing about one
  bool reaches_host;           // kernels can address the memory of the process that runs them
};

// What a subject finds out while it is used. Complete after subject_leave.
struct subject_findings {
  char weakness[200]; // which isolation is missing for this candidate; "": none
  int64_t open_ns, plan_ns, bind_ns, fill_ns, call_ns, inspect_ns; // as in assay_durations
  struct assay_kernels kernels;                                    // of the plan for the timed workload
  // The last fault at an address was in a plan whose launches are known to be of libraries' and of PyTorch's kernels
  // alone. They do not fault where they are called as they should be: what they were given besides arguments, such as
  // tables of cuFFT's, is not in the plan. (Damaged bands prove a write, whoever's it was.)
  bool libraries_fault;
  size_t wanted_bytes;               // runner_wanted_bytes, of a process on the CPU; 0: not known yet
  double prepare_ns;                 // of a plan's weights; NaN: it has none
  struct device_condition condition; // when it was last read
};

// The part that all subjects begin with. Only subjects write to it.
struct subject {
  const struct subject_ops *ops;
  struct subject_env env;
  const char *toolchain;      // what compiles the candidate: "cc", "nvrtc", ...
  const struct layout *timed; // the layout of the timed workload; NULL before loading
  const struct layout *bound; // the layout whose buffers are bound; NULL: none
  struct assay_workbench *on; // what has the device, once it is loaded; NULL: none is needed
  enum turn_kind turn;        // on the device, as last asked for
  enum turn_kind rests_from;  // the turn that subject_rest gave back; TURN_NONE: none
  int rests;                  // calls of it without one of subject_resume yet
  bool turn_missed;           // once, TURN_ALONE did not come: others may be at work in what was done since
  struct subject_findings found;
};

// Takes this turn on the device (device/turn.h); waiting counts as opening it.
void subject_turn(struct subject *s, enum turn_kind kind);
// ASSAY_ERR_ENVIRONMENT where it waited in vain to be alone (turn_missed): the work of others would be in its times,
// and would look like the candidate's. Before each call that needs the device alone; the judgement ends so in any case.
enum assay_status subject_has_turn(const struct subject *s, struct assay_error *err);

// For long work on the host between two calls, such as an answer by LAPACK: gives the turn back, so that others have
// the device meanwhile. resume takes one of the same kind, before anything is done on the device. A subject whose
// candidate may still be at work there (subject_ops.idle) keeps the turn. Pairs may be within another one.
void subject_rest(struct subject *s);
void subject_resume(struct subject *s);

// Between two questions, with nothing at work on the device: lets others have it who wait for that, where it is held
// together with others. Who waits to be alone keeps all others waiting, too, and an exam may take minutes.
void subject_give_way(struct subject *s);

struct subject_ops {
  const char *mode; // assay_verdict.mode
  // The subject that takes over when a Python candidate has no plan for some workload (RUNNER_UNRECORDABLE). NULL:
  // none.
  const struct subject_ops *without_plan;
  // The candidate's process has no system call filter. The judge hides its own memory before it begins
  // (judge_begin_as).
  bool unconfined;
  bool has_as_called;
  double tick_ns;    // resolution of its clock; 0: too small to matter
  int64_t timing_ns; // how long to take samples, unless the options say

  // Starts the compiler, and what else can start meanwhile. The caller closes the subject.
  enum assay_status (*create)(const struct subject_env *env, struct subject **out, struct assay_error *err);
  // Waits for the compiler. The caller frees the result's strings; its `library` is NULL.
  enum assay_status (*finish_build)(struct subject *s, struct build_result *out, struct assay_error *err);
  // Starts what runs the candidate, measures the cost of the protocol, and loads the candidate. layouts[0] is the timed
  // workload's. The layouts stay until the subject is closed.
  enum assay_status (*load)(struct subject *s, const struct layout *layouts, int n, struct subject_loaded *out,
                            struct assay_error *err);
  // Binds the layout's buffers in place of those before. Called by subject_bind only.
  enum assay_status (*bind)(struct subject *s, const struct layout *l, struct runner_report *report,
                            struct assay_error *err);
  // Draws the inputs into the bound buffers, and poisons the outputs.
  enum assay_status (*fill)(struct subject *s, enum probe probe, uint64_t key, uint32_t poison,
                            struct assay_error *err);
  // One call.
  enum assay_status (*call)(struct subject *s, enum call_mode mode, struct runner_report *report,
                            struct assay_error *err);
  // Checks the bands around the buffers, for all calls since the layout was bound. NULL: every call checks them.
  enum assay_status (*inspect)(struct subject *s, struct runner_report *report, struct assay_error *err);
  // One call without a kernel, after the timed ones, on whatever the buffers hold; *overhead_ns: the cost of the
  // protocol of a call by all such calls so far, and by those before the candidate was there. NULL: nothing of the
  // kind.
  enum assay_status (*null_call)(struct subject *s, double *overhead_ns, struct runner_report *report,
                                 struct assay_error *err);
  // What the timed calls were charged too little for the way to the start line (*excess_ns), and what that may be
  // besides, since the machine was too disturbed to know (*doubt_ns). After null_call. NULL: nothing is charged.
  enum assay_status (*recheck)(struct subject *s, double *excess_ns, double *doubt_ns, struct assay_error *err);
  // What the other clocks show about the calls so far; `samples` are the times of the cold ones. NULL: it has one
  // clock.
  struct stamps_facts (*stamps)(const struct subject *s, const double *samples, int n);
  // Forgets the times of the calls so far by the other clocks. NULL where `stamps` is.
  void (*time_again)(struct subject *s);
  // Copies output o's bytes to `to`.
  enum assay_status (*read_output)(struct subject *s, int o, void *to, struct assay_error *err);
  // keep_outputs starts a copy of the last call's outputs into a slot (below options.verified_calls), over what is
  // there. read_kept copies output o of a slot to `to`, after the last call. Both NULL: use read_output instead.
  enum assay_status (*keep_outputs)(struct subject *s, int slot, struct assay_error *err);
  enum assay_status (*read_kept)(struct subject *s, int slot, int o, void *to, struct assay_error *err);
  // The output's bytes in place; NULL where the host cannot read them.
  const void *(*output)(const struct subject *s, int o);
  // Whether questions under this layout are answered on the device, by `check`. NULL: never.
  bool (*answers)(const struct subject *s, const struct layout *l);
  // As question_check, for the last call.
  enum assay_status (*check)(struct subject *s, const struct question *q, uint32_t poison, struct assay_check *checks,
                             struct assay_error *err);
  // Whether nothing of the candidate is at work on the device, between calls. NULL: calls end when their work has.
  bool (*idle)(struct subject *s);
  // Whether the machine was steady around the last calls: false drops their samples.
  bool (*steady)(const struct subject *s);
  // After the last call: frees what the candidate left on the device, for the next candidate. Called by the thread that
  // tested it. `log` and `close` may be called by another thread while the next candidate is tested. NULL: nothing to
  // do.
  void (*leave)(struct subject *s);
  const char *(*log)(const struct subject *s); // what the candidate printed
  void (*close)(struct subject *s);            // frees it
};

extern const struct subject_ops subject_cpu, subject_plan, subject_process;

// Fills the part that all subjects begin with. For `create`.
void subject_init(struct subject *s, const struct subject_ops *ops, const struct subject_env *env);

// Binds the layout's buffers, unless they are bound already.
enum assay_status subject_bind(struct subject *s, const struct layout *l, struct runner_report *report,
                               struct assay_error *err);

bool subject_answers(const struct subject *s, const struct layout *l);
void subject_leave(struct subject *s);

#endif
