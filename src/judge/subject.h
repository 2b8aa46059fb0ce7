// The candidate under examination, whatever it is written in and wherever it runs: a process on the CPU
// (subject_cpu.c), a launch plan on a device (subject_plan.c), or a process that has a GPU (subject_process.c). The
// exam and the clock see only this.
#ifndef JUDGE_SUBJECT_H
#define JUDGE_SUBJECT_H

#include "judge/question.h"
#include "runner/runner.h"

struct session;

enum call_mode {
  CALL_COLD, // nothing of inputs and outputs in the caches
  CALL_HOT,
  CALL_AS_CALLED, // cold, timed with the host's part of launching; only where has_as_called
};

struct subject_ops {
  const char *mode; // assay_verdict.mode
  // What judges a Python candidate of which some workload has no plan (RUNNER_UNRECORDABLE). NULL: nobody.
  const struct subject_ops *without_plan;
  bool has_as_called;
  double tick_ns;    // the step in which its clock counts; 0: too small to matter
  int64_t timing_ns; // for how long samples are taken where the options say nothing
  // Starts the compiler, and whatever else can come up meanwhile.
  enum assay_status (*start)(struct session *s, struct assay_error *err);
  // Waits for the compiler. *good is false when the candidate failed, which the verdict then says; likewise below.
  enum assay_status (*finish_build)(struct session *s, bool *good, struct assay_error *err);
  // Brings up what runs the candidate, and measures the protocol's own cost (session.overhead_ns).
  enum assay_status (*load)(struct session *s, bool *good, struct assay_error *err);
  // Makes the layout's buffers the current ones.
  enum assay_status (*bind)(struct session *s, const struct layout *l, struct runner_report *report,
                            struct assay_error *err);
  // Draws the inputs into them, and poisons outputs and bands.
  enum assay_status (*fill)(struct session *s, enum probe probe, uint64_t key, uint32_t poison,
                            struct assay_error *err);
  // One call.
  enum assay_status (*call)(struct session *s, enum call_mode mode, struct runner_report *report,
                            struct assay_error *err);
  // Where the bands around the buffers are not looked at after every call: whether they are intact, since the layout
  // was bound. NULL: nothing to do.
  enum assay_status (*inspect)(struct session *s, struct runner_report *report, struct assay_error *err);
  // Copies output o's bytes to `to`.
  enum assay_status (*read_output)(struct session *s, int o, void *to, struct assay_error *err);
  // Keeps the outputs of the call just made in place number `slot` (below options.verified_calls), over what is there,
  // without waiting; and copies output o of a slot to `to`, after the last call. NULL: read_output does for both.
  enum assay_status (*keep_outputs)(struct session *s, int slot, struct assay_error *err);
  enum assay_status (*read_kept)(struct session *s, int slot, int o, void *to, struct assay_error *err);
  // The output's bytes in place, or NULL where the host cannot see them.
  const void *(*output)(struct session *s, int o);
  // Whether questions under this layout are answered where the outputs are, by `check`; NULL: never.
  bool (*answers)(struct session *s, const struct layout *l);
  // As question_check, for the call that was just made.
  enum assay_status (*check)(struct session *s, const struct question *q, uint32_t poison, struct assay_check *checks,
                             struct assay_error *err);
  // Whether the machine was steady around the last calls: false drops their samples.
  bool (*steady)(struct session *s);
  // The candidate makes no further call, and the device is the next one's: what it left there goes. Called by the
  // thread that tested it; `log` and `close` may come from another, while the next is tested. NULL: nothing to do.
  void (*leave)(struct session *s);
  const char *(*log)(struct session *s);
  void (*close)(struct session *s);
};

extern const struct subject_ops subject_cpu, subject_plan, subject_process;

#endif
