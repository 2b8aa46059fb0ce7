// One question put to a candidate: a workload, a way of drawing inputs, a key, and the oracle's answer.
#ifndef JUDGE_QUESTION_H
#define JUDGE_QUESTION_H

#include "assay/judge.h"
#include "compare/compare.h"
#include "oracle/oracle.h"
#include "runner/runner.h"
#include "task/task.h"

// Outputs are filled before a call with a quiet NaN of a random payload (never the default NaN's).
#define POISON_NAN 0x7fc00001u
#define POISON_PAYLOAD 0x3ffffeu

// The buffers of a task under one workload.
struct layout {
  const struct workload *workload;
  struct arena arena;
  int n_in, n_out;
  struct array *in; // dtype and shape
  struct runner_tensor *in_tensors, *out_tensors;
  int64_t output_bytes;
};

enum assay_status layout_make(const struct task *t, const struct workload *w, struct layout *out,
                              struct assay_error *err);
void layout_release(struct layout *l);
int64_t layout_output_bytes(const struct layout *l, int o);

// The stream of the contract passes' noise, under a question's key.
#define ORACLE_NOISE 0x6f7261636c65u

// What a check on the device does with the error scale (device_check.h).
enum question_scale { SCALE_OWN, SCALE_KEEP, SCALE_BORROW };

struct question {
  const struct layout *layout;
  enum question_scale scale;
  bool in_place; // answered by the subject, where the outputs are: `answer` stays empty
  enum probe probe;
  uint64_t key;
  struct oracle_answer answer;
};

// Draws the inputs, asks the oracle, and keeps only the answer: the inputs are a function of (layout, probe, key).
enum assay_status question_make(const struct task *t, const struct layout *l, enum probe probe, uint64_t key,
                                int replicas, int threads, struct question *out, struct assay_error *err);
void question_release(struct question *q);

// Answers n questions whose layout, probe and key are set. Small ones are answered side by side, one processor each;
// large ones one after the other, by all. On failure all are released.
enum assay_status questions_answer(const struct task *t, struct question *questions, int n, int replicas, int threads,
                                   struct assay_error *err);

// What an output is held against, but for the tensors themselves. Where sums go into it, what they lose when partial
// sums below the normal numbers are flushed to zero is no error.
struct compare_input question_terms(const struct task *t, int output, enum dtype dtype, const struct shape *shape,
                                    uint32_t poison);

// Facts become a check.
enum assay_status question_record(const struct question *q, int output, const struct compare_facts *facts,
                                  const struct shape *shape, const struct assay_judge_options *o, struct assay_check *c,
                                  struct assay_error *err);

// Whether these checks fail at so few elements that the error scale may be to blame, which some passes estimate: by
// chance all of them were near the truth. (Where outputs cancel to a coarse grid, eight passes hit the truth's own
// point of it at one in a million elements; an error that has no neighbours like it has the tails of Student's t.)
// Then the checks are emptied, and it is asked once more, with QUESTION_MORE passes.
enum { QUESTION_MORE = 64 };
bool question_drop_doubtful(const struct assay_judge_options *o, struct assay_check *checks, int n);

// Compares outputs[i] (bytes of output i) with the answer; appends nothing, fills one check per output. The reason of
// the first output that is not right is returned. `poison` is the pattern the outputs held before the call.
enum assay_status question_check(const struct task *t, const struct question *q, const void *const *outputs,
                                 uint32_t poison, const struct assay_judge_options *o, struct assay_check *checks,
                                 struct assay_error *err);

#endif
