// SPDX-License-Identifier: Apache-2.0
// One question put to a candidate: a workload, a way of drawing inputs, a key, and the oracle's answer.
#ifndef JUDGE_QUESTION_H
#define JUDGE_QUESTION_H

#include "assay/judge.h"
#include "compare/compare.h"
#include "oracle/apart.h"
#include "runner/runner.h"
#include "task/task.h"

// Before a call, outputs are filled with a quiet NaN that has a random payload (never that of the default NaN).
#define POISON_NAN 0x7fc00001u
#define POISON_PAYLOAD 0x3ffffeu

// The buffers of a task under one workload.
struct layout {
  const struct workload *workload;
  struct arena arena;
  int n_in, n_out;
  int n_judged; // values that are compared: the outputs, or what the task's check makes of them (task/check.h)
  struct tensor_type *in, *out, *judged;
  int64_t input_bytes, output_bytes;
  bool inputs_first;          // inputs begin where their mapping does: nothing lies before them, something behind
  struct oracle_bytes oracle; // what an answer takes on the host
  int64_t check_bytes;        // what the task's check takes besides an answer (judged.h)
  struct oracle_apart apart;
  int64_t moments;    // of oracle_moments
  int64_t slab;       // so many members of the batch are answered and compared at a time (slabs.h); 0: all
  int64_t slab_bytes; // what the oracle then takes
};

enum assay_status layout_make(const struct task *t, const struct workload *w, struct layout *out,
                              struct assay_error *err);
void layout_release(struct layout *l);
int64_t layout_output_bytes(const struct layout *l, int o);

// Whether the outputs of verified calls are kept and compared after the timing. Larger ones are compared at once.
bool layout_keeps_outputs(const struct layout *l, const struct assay_judge_options *o);

// The host's memory that a judgement takes whose timed workload has this layout, where the oracle answers on the host:
// answers that are held at once, what it works in, the candidate's buffers, outputs kept from timed calls. What the
// candidate itself takes is not in it. (The other shapes of an exam are small beside a large one.)
int64_t layout_judging_bytes(const struct layout *l, const struct assay_judge_options *o);

// Where a check on the device takes its error scale from (device_check.h).
enum question_scale { SCALE_OWN, SCALE_KEEP, SCALE_BORROW, SCALE_FEW };

// The least number of passes for an error scale (question_passes in question.c says why).
enum { QUESTION_FEW = 8 };

struct question {
  const struct layout *layout;
  enum question_scale scale;
  bool in_place; // the subject answers it on the device; `answer` stays empty
  bool again;    // the second look (question_drop_doubtful)
  bool late;     // answered when it is asked, not before (questions_postpone)
  enum probe probe;
  uint64_t key;
  uint64_t *rows; // where a check on the device leaves the hashes of rows (draws.h); NULL: nobody asks for them
  int passes;     // for the error scale, where fewer than usual are enough; 0: as usual
  struct assay_answers *kept; // where answers are looked for and kept; NULL: nowhere
  struct oracle_answer answer;
};

// The arithmetic of the contract passes that answer a question with this key. Again: what one accumulator loses counts.
// A loop with one is wrong where many terms are alike, and its answer one in ten such times is further off than a
// first look allows, which is no reason to refuse it; but most answers need no scale that is as wide.
struct arith question_arith(const struct task *t, uint64_t key, bool again);

// Passes for the error scale of a question, where a usual one is given so many.
int question_passes(const struct question *q, int replicas);

// Draws the inputs of a question whose layout, probe and key are set, and asks the oracle. Only the answer is kept: the
// inputs can be drawn again from (layout, probe, key). `replicas`: passes for the error scale.
enum assay_status question_answer(const struct task *t, struct question *q, int replicas, int threads,
                                  struct assay_error *err);
void question_release(struct question *q);

// Whether the answer is made when outputs are there to compare it with: on the device, or in slabs. `answer` stays
// empty.
bool question_is_open(const struct question *q);

// Whether an answer on the host takes so long that others should have the device meanwhile: it is large.
bool question_takes_long(const struct question *q);

// Whether an answered question is put to the candidate: not where its probe is one that every straightforward
// implementation fails. Of a late question and of one that is open this is known when it is
// (assay_check.skipped).
bool question_is_asked(const struct question *q);

// How many answers of so many bytes may be held at once, of n: what makes more than 512 MiB together is not.
int questions_held(int64_t answer_bytes, int n);

// Marks the questions as late whose answers would be too many to hold, in their order: memory then does not grow with
// the number of questions.
void questions_postpone(struct question *questions, int n);

// Answers a late question, by all threads, with as many passes as questions_answer gives it; it is not late any more.
// The others have an answer.
enum assay_status question_answer_late(const struct task *t, struct question *q, int replicas, int threads,
                                       struct assay_error *err);

// Answers n questions whose layout, probe, key and passes are set, except late ones. Small ones are answered in
// parallel, one thread each; large ones in turn, by all threads. On failure all are released.
enum assay_status questions_answer(const struct task *t, struct question *questions, int n, int replicas, int threads,
                                   struct assay_error *err);

// The terms under which an output is compared; the caller adds the tensors. Where sums go into the output, flushing
// subnormal partial sums to zero is not an error.
struct compare_input question_terms(const struct task *t, int output, const struct tensor_type *type, uint32_t poison);

// How many errors elements may share.
void question_set_draws(const struct task *t, const struct layout *l, bool again, struct compare_input *in);

// Turns the facts of a comparison into a check.
enum assay_status question_record(const struct question *q, int output, const struct compare_facts *facts,
                                  const struct shape *shape, const struct assay_judge_options *o, struct assay_check *c,
                                  struct assay_error *err);

// Of a task with a check: says in its description which of the values that it judges this is.
enum assay_status question_name_judged(const struct task *t, int i, struct assay_check *c, struct assay_error *err);

// Whether the estimate of the error scale may be to blame that these checks fail (compare_doubtful). The scale comes
// from a few passes, and by chance all of them may be near the truth at an element. (Where outputs cancel to a coarse
// grid, all of eight passes hit the truth's own point at one in a million elements. An error that has no neighbours
// like it has the tails of Student's t.) If so, the checks are emptied, and the caller asks again with QUESTION_MORE
// passes.
enum { QUESTION_MORE = 64 };
bool question_drop_doubtful(const struct assay_judge_options *o, struct assay_check *checks, int n);

// Compares outputs[i] (the bytes of output i), or what the task's check makes of them, with the answer and fills
// checks[i] for each of the n_judged values. `poison`: what the outputs held before the call.
enum assay_status question_check(const struct task *t, const struct question *q, const void *const *outputs,
                                 uint32_t poison, const struct assay_judge_options *o, struct assay_check *checks,
                                 struct assay_error *err);

#endif
