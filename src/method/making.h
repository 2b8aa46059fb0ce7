// SPDX-License-Identifier: Apache-2.0
// Private to src/method: the engine's state. making.c has a task's steps, in memory and in the store; asking.c makes
// requests, asking_prompt.c their prompts, budget.c counts what they cost; judging.c turns replies into steps; engine.c
// is the loop.
#ifndef METHOD_MAKING_H
#define METHOD_MAKING_H

#include "base/arena.h"
#include "method/brief.h"
#include "method/engine.h"
#include "model/context.h"

// A request of the round that is under way, and its reply.
struct pending {
  struct method_plan plan;
  bool sent, replied;
  bool continuing;          // the rest of its reply, which was cut off, was asked for
  int64_t partial_bytes;    // of what came, while that is under way
  char *prompt, *system;    // heap
  struct model_reply reply; // once replied
  struct store_step row;    // its numbers, once replied; strings are not valid
  double usd;               // NaN: unknown
  int64_t own_ns;           // to make the prompts
  int tries;                // that its endpoint did not serve, in this process
};

// A task of the run.
struct making {
  const struct engine_task *task;
  struct arena arena;
  struct brief brief;
  struct made_step *steps;
  int64_t n; // finished
  size_t capacity;
  struct pending *round; // of steps [first, first + n_round)
  int64_t first, n_round;
  int64_t last_first; // of the last round that had steps
  bool taken_up;      // what was given up there is asked again
  int rounds;
  bool opened, done;
  // Its next round is to be planned when tasks before it have got so far (learning.c): so many of their choices of a
  // model. stuck: it does not go on in this process, and nobody waits for it.
  bool waits, stuck;
  int64_t choices;
  char stopped[64];            // why it needs no more requests; "": it goes on
  bool resumes;                // replies of an earlier process may be in the store
  struct assay_error unserved; // why the endpoint did not serve its last request
  struct assay_error blocked;
  int64_t judged;
};

// A model as this process finds it.
struct model_state {
  int failures;         // in a row
  int64_t failing;      // tag of the last of them
  bool several;         // they are of several steps
  int under_way;        // requests
  bool asked, answered; // ever, by this process
  struct context_seen context;
  bool out;               // it is not asked any more, by this process
  struct assay_error why; // its last failure
};

struct engine {
  const struct engine_options *o;
  struct making *tasks;
  const struct model_language *others[ANSWER_MOST_FORMS];
  int under_way, waiting;                           // requests sent; replies that wait to be judged
  int64_t calls, tokens;                            // of the whole run
  int64_t cpu_ns, gpu_ns, most_cpu_ns, most_gpu_ns; // of the whole run; of the dearest judgement of this process
  int64_t most_model_ns, most_judge_ns;             // wall clock of the longest request and judgement of this process
  atomic_llong spare_calls;                         // of the budget: neither made nor reserved
  int64_t reserved_tokens;
  double usd, reserved_usd;        // of those whose price is known
  int64_t lost_calls, lost_tokens; // what was under way when a process of the run ended, at most
  double lost_usd;
  double at_most_usd; // what those whose cost is not known may have cost at most, where the price is
  bool without_price; // some were not
  int64_t start_ns, asked, judged;
  struct store *books;               // the store once more, for the client's thread; NULL in a replay
  struct model_state *models;        // settings.n_models; NULL in a replay
  int64_t answered, unanswered;      // requests of this process
  struct assay_error last_failure;   // of an unanswered one
  const struct store_step *expected; // a replay: the step as it is stored; else NULL
  bool closing;                      // after an error: nothing more is asked
  const char *ended;                 // NULL: goes on
  char why[256];
};

// making.c
// The finished steps that the store has of a task; open reads them, too.
enum assay_status making_recall(struct engine *e, struct making *m, struct assay_error *err);
enum assay_status making_open(struct engine *e, struct making *m, struct assay_error *err);
void making_release(struct making *m);
struct pending *making_pending(struct making *m, int64_t number); // of the round
struct method_view making_view(const struct engine *e, const struct making *m, int64_t n);
// Plans the next round where the last one is finished; done is set where there is none.
enum assay_status making_plan(struct engine *e, struct making *m, struct assay_error *err);
// What a finished step's row in the store says: its code (of a text, its reply) and what was found of it. Heap; zeroed
// where it fails.
struct step_text {
  char *code, *feedback;
};
enum assay_status making_text(const struct engine *e, const struct making *m, int64_t number, struct step_text *out,
                              struct assay_error *err);
void step_text_release(struct step_text *t);
void made_step_release(struct made_step *s);
// Whether the reply of its next step is there, to be worked on.
bool making_is_ready(const struct making *m);
// Appends a finished step; takes over its hashes.
enum assay_status making_add(struct making *m, const struct made_step *s, struct assay_error *err);

// learning.c
// What is known of the models when a task's round that begins with step m->first is planned: as it was stored then, or
// what the tasks before it teach. *ready is false where they have to get on first.
enum assay_status learning_recall(struct engine *e, struct making *m, struct method_lesson *lessons, bool *stored,
                                  struct assay_error *err);
enum assay_status learning_keep(const struct engine *e, const struct making *m, const struct method_lesson *lessons,
                                struct assay_error *err);
// Whether the tasks before it have got as far as its next choice is to know of.
bool learning_is_ready(const struct engine *e, const struct making *m);

// asking.c
// Renders the prompts of a pending step (asking_prompt.c).
enum assay_status asking_render(struct engine *e, struct making *m, int64_t number, struct assay_error *err);
// Sends it, and reserves what it may cost. *sent is false where the budget is used up (e->ended
// says which), or would be by what is under way.
enum assay_status asking_send(struct engine *e, struct making *m, int64_t number, bool *sent, struct assay_error *err);
// The step's strings as they are stored; `prompt` owns that one's bytes.
void asking_row(const struct engine *e, const struct making *m, const struct pending *p, struct buf *prompt,
                struct store_step *out);
// Whether the step's request can be sent now, as far as its model is concerned.
bool asking_can_serve(const struct engine *e, const struct pending *p);
// The endpoint failed, not the model: what it has cost is stored, and the request is to be sent again. Where that was
// so often enough, the step is an attempt without a reply.
enum assay_status asking_return(struct engine *e, struct making *m, int64_t number, struct model_reply *reply,
                                struct assay_error *err);
// A step whose model is not asked any more becomes one that was not served, so that the steps after it go on.
enum assay_status asking_leave_out(struct engine *e, struct making *m, int64_t number, struct assay_error *err);
// Stores a reply that came. Where its code was cut off, asks for the rest, once: the reply is then not there yet.
enum assay_status asking_store(struct engine *e, struct making *m, int64_t number, struct assay_error *err);
// The rest of a reply came, or did not: joins it, and adds what it cost. Where the endpoint failed, it stays to be
// asked for by the next process.
enum assay_status asking_join(struct engine *e, struct making *m, int64_t number, const struct model_reply *rest,
                              struct assay_error *err);
// Asks for the rest of a stored reply where that is due. Sets p->continuing, or p->replied where it is not.
enum assay_status asking_continue(struct engine *e, struct making *m, int64_t number, struct assay_error *err);
#define ASKING_CONTINUED "the rest was asked for" // detail of a stored reply that is not to be continued again

// judging.c
// Turns the reply of the next step (number m->n) into a finished step.
enum assay_status judging_commit(struct engine *e, struct making *m, struct assay_error *err);
// judging_path: the file of a step's kernel.
void judging_path(const struct engine *e, const struct making *m, int64_t number, char *path, size_t size);
// final.c: the winner of a task, judged afresh unless it was; fills the result's final fields.
enum assay_status final_judge(struct engine *e, struct making *m, struct engine_result *r, struct assay_error *err);
// replay.c: whether a step came out as it is stored.
enum assay_status replay_compare(const struct engine *e, const struct store_step *now, struct assay_error *err);
// What the verdict says of a step: reason, right, time, what it was built to. feedback (heap), unless NULL: in words.
enum assay_status judging_read(struct engine *e, int64_t verdict, struct made_step *s, char **feedback,
                               struct assay_error *err);

#endif
