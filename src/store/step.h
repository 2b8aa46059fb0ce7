// SPDX-License-Identifier: Apache-2.0
// The steps of a run that makes kernels: every prompt, every reply, what came of it and what it cost.
#ifndef STORE_STEP_H
#define STORE_STEP_H

#include <stddef.h>

#include "store/store.h"

// What came of a step: X(ID, name as stored). All but TEXT and FINAL count in the denominator of a success rate.
#define STORE_OUTCOMES(X)                                                                                              \
  X(REPLIED, "replied")               /* the reply is paid for and stored, nothing was done with it yet */             \
  X(JUDGED, "judged")                 /* the step has a verdict of its own */                                          \
  X(DUPLICATE, "duplicate")           /* the code of an earlier step: its verdict holds */                             \
  X(NO_CODE, "no_code")               /* the reply has no code */                                                      \
  X(CUT_OFF, "cut_off")               /* it ended before the code did */                                               \
  X(REFUSED, "refused")               /* the model refused */                                                          \
  X(WRONG_LANGUAGE, "wrong_language") /* code that was not asked for */                                                \
  X(NO_REPLY, "no_reply")             /* the request failed, retries included */                                       \
  X(TEXT, "text")                     /* prose that was asked for: an idea, a reflection */                            \
  X(FINAL, "final")                   /* no request: a winner judged and timed afresh */

enum store_outcome {
#define STORE_OUTCOME_ID(id, name) STORE_##id,
  STORE_OUTCOMES(STORE_OUTCOME_ID)
#undef STORE_OUTCOME_ID
};
const char *store_outcome_name(enum store_outcome o);

// `finish` of a step without a reply: the endpoint failed, and the model is asked again (it counts in no rate); the
// request was sent, and what it cost is not known, but not more than its row says.
#define STORE_UNSERVED "unserved"
#define STORE_UNDER_WAY "under_way"
#define STORE_SERVER_FAILED "server_failed" // it failed as often as it is asked; this counts as an attempt

// The columns of a step in addition to id and outcome, by type; each is a field of struct store_step.
#define STEP_TEXTS(X) X(run) X(task) X(kind) X(model) X(finish) X(detail) X(code_hash) X(feedback)
#define STEP_BLOBS(X) X(prompt) X(reply) X(code)
#define STEP_NUMBERS(X) STEP_PLACES(X) STEP_COUNTS(X) STEP_TIMES(X)
#define STEP_PLACES(X) X(number) X(parent) X(same_as) X(lane) X(verdict)
#define STEP_COUNTS(X) X(calls) X(input_tokens) X(cached_tokens) X(output_tokens) X(reasoning_tokens) X(estimated)
#define STEP_TIMES(X) X(model_ns) X(build_ns) X(judge_ns) X(cpu_ns) X(gpu_ns) X(own_ns) X(at_ns)
#define STEP_REALS(X) X(usd)

struct store_bytes {
  const char *data; // not terminated
  size_t len;
};

// Strings are borrowed on the way in, and live until the visitor returns on the way out.
struct store_step {
  int64_t id;
  enum store_outcome outcome;
  const char *run, *task;
  const char *kind;      // what was asked for: "first", "refine", "idea", ...
  const char *model;     // "" for a program
  const char *finish;    // why the reply ended; STORE_UNSERVED, STORE_UNDER_WAY
  const char *detail;    // one line: why there is no code, what failed
  const char *code_hash; // of the code without its layout; ""
  const char *feedback;  // what later prompts say of it
  struct store_bytes prompt, reply, code;
  int64_t number;  // within the task, from 0
  int64_t parent;  // number of the step whose code it goes on from; -1
  int64_t same_as; // number of the step that had its code first; of a try that was not served, its own; -1
  int64_t lane;    // which trajectory or island it belongs to
  int64_t verdict; // id; 0: none
  int64_t calls;   // requests sent
  int64_t input_tokens, cached_tokens, output_tokens, reasoning_tokens; // -1: unknown
  int64_t estimated;                                                    // 1: tokens are estimates, of bytes
  // Wall clock of the request, the build and the judgement (build included); CPU time of both together, time on a
  // GPU; and what Assay itself took: prompt, extraction, books.
  int64_t model_ns, build_ns, judge_ns, cpu_ns, gpu_ns, own_ns, at_ns;
  double usd; // NaN: unknown
};

// Stores a step, in the place of one with the same run, task and number.
enum assay_status store_put_step(struct store *s, const struct store_step *step, struct assay_error *err);

// Rows below this number are no steps of the method: what was paid for requests that were made again.
#define STORE_ASIDE_NUMBER (-((int64_t)1 << 40))
// A request that got no reply (STORE_NO_REPLY) and is made again: its row, if it was sent at all, gets a number below
// STORE_ASIDE_NUMBER, so that what it has cost stays in the books.
enum assay_status store_put_aside(struct store *s, const char *run, const char *task, int64_t number,
                                  struct assay_error *err);
// How often the endpoint has failed at a step that is to be made again; its rows have the step's number as same_as.
enum assay_status store_count_tries(struct store *s, const char *run, const char *task, int64_t number, int64_t *out,
                                    struct assay_error *err);
// A step that was given up becomes one that was not served.
enum assay_status store_take_up_step(struct store *s, const char *run, const char *task, int64_t number,
                                     struct assay_error *err);
// A request under way is sent again: how many calls it is now, and the tokens that all of them may take at most.
enum assay_status store_put_retry(struct store *s, const struct store_step *retry, struct assay_error *err);
enum assay_status store_drop_step(struct store *s, const char *run, const char *task, int64_t number,
                                  struct assay_error *err);

// Calls visit for the steps of a run (and task, unless NULL), by task and number; stops when it returns false. Rows
// that the visitor adds or changes may or may not be visited.
typedef bool store_visit_step(void *arg, const struct store_step *step);
enum assay_status store_each_step(struct store *s, const char *run, const char *task, store_visit_step *visit,
                                  void *arg, struct assay_error *err);

// The step of that number, where there is one.
enum assay_status store_get_step(struct store *s, const char *run, const char *task, int64_t number,
                                 store_visit_step *visit, void *arg, struct assay_error *err);

// What all steps of a run have cost together.
struct store_cost {
  int64_t calls, tokens; // lost ones included
  double usd;            // of those whose cost is known
  int64_t without_price; // requests whose cost is not; without lost ones
  int64_t cpu_ns, gpu_ns;
  // Requests that were under way when their process ended, as much as they may have been at most.
  int64_t lost_calls, lost_tokens;
};
enum assay_status store_sum_steps(struct store *s, const char *run, struct store_cost *out, struct assay_error *err);

// The settings that a run of steps is made with, JSON text. Get: heap string (base_free), NULL where there is none.
enum assay_status store_set_making(struct store *s, const char *run, const char *settings, struct assay_error *err);
enum assay_status store_get_making(struct store *s, const char *run, char **settings, struct assay_error *err);

// What the choice of a step's model went by, as text: what the run's other tasks had taught of its models. Get: heap
// (base_free), NULL where there is none.
enum assay_status store_put_lesson(struct store *s, const char *run, const char *task, int64_t number, const char *text,
                                   struct assay_error *err);
enum assay_status store_get_lesson(struct store *s, const char *run, const char *task, int64_t number, char **text,
                                   struct assay_error *err);

#endif
