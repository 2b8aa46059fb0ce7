// SPDX-License-Identifier: Apache-2.0
// Runs a method over tasks: asks, extracts, builds, judges and remembers. Everything is in the store as soon as it is
// paid for; a run that ended at any moment goes on where it was.
#ifndef METHOD_ENGINE_H
#define METHOD_ENGINE_H

#include <stdatomic.h>

#include "assay/judge.h"
#include "method/form.h"
#include "method/method.h"
#include "model/client.h"
#include "model/prices.h"

struct engine_task {
  const char *name, *path;
};

struct engine_model {
  const char *name;          // "" for a program
  int endpoint;              // index of the client's endpoints
  bool program;              // which knows no cap on tokens, and cannot be asked to go on
  const struct price *price; // NULL: not known
};

// A kernel to be judged. The verdict is stored under the run's name, and its id returned. ASSAY_OK whenever there is
// one whose reason is not judge_failed; a status says that the machine or the task cannot be judged here.
struct engine_candidate {
  const struct engine_task *task;
  const char *file;
  bool final; // a winner, to be judged and timed afresh: other questions, and a run of its own for the verdict
  // Whether what was built is known: the number of the step whose verdict holds, -1 where none does. NULL: not asked.
  int64_t (*known)(const void *arg, const char *built);
  const void *known_arg;
  int64_t same_as; // out: that step; nothing was judged, and there is no verdict. -1: it was judged
  int64_t verdict; // out
  int64_t build_ns, judge_ns, cpu_ns, gpu_ns; // out; judge includes build
};
typedef enum assay_status engine_judge(void *arg, struct engine_candidate *c, struct assay_error *err);

// What a run may use up, what is stored of it included; 0: no limit. It is reserved before a request is
// sent.
struct engine_budget {
  int64_t calls, tokens;
  int64_t wall_ns;        // of this process; what the longest request and judgement so far took is reserved
  int64_t cpu_ns, gpu_ns; // of judging (and of programs that reply); the dearest step so far is reserved for each
  double usd;
};

// What is to be said of a model. why: that it was not asked any more; status is ASSAY_OK for the others.
struct engine_absence {
  const char *model; // "" for a program
  struct assay_error why;
  // Of this process: how many of its prompts the server seems to have cut, and how the last of them was counted.
  int64_t cut_prompts, cut_tokens, cut_bytes;
};

struct engine_progress {
  const char *task;
  int index;           // of the task; -1: of none, replies are waited for, which is said once a second
  double task_usd;     // its steps' cost; NaN: not known of all
  int64_t task_calls;  // its steps
  int64_t step;        // of the task
  const char *what;    // "judging", "asking"
  bool finished;       // the step before this one was finished just now
  const char *verdict; // of the task's last step; ""
  double best_ns;      // of the task; NaN
  int tasks_right, n_tasks, under_way;
  int waiting; // of these under way: to be sent again, when their server is no longer busy
  int64_t calls, tokens;
  int64_t cut_prompts; // that servers seem to have cut, so far
  double usd;          // NaN: not known of all
};

struct engine_options {
  struct store *store;
  const char *run;
  const char *prompts; // folder of the texts
  const char *folder;  // for the kernels' files; it is there
  struct method_settings settings;
  const struct answer_form *form;
  unsigned rungs;                    // of feedback
  const struct engine_model *models; // settings.n_models
  const struct engine_task *tasks;
  int n_tasks;
  struct model_client *client;
  int ahead;          // requests under way and replies that wait to be judged, at most
  int64_t max_tokens; // of a reply; 0: the server's default
  struct engine_budget budget;
  struct method_stop enough;                 // of each task
  const struct assay_judge_options *judging; // for the tasks' descriptions
  engine_judge *judge;
  void *judge_arg;
  void (*progress)(void *arg, const struct engine_progress *p); // may be NULL
  void *progress_arg;
  bool ask_again;          // what was given up, as its server failed each time, in the last round of each task
  bool finals;             // judge the winners afresh at the end
  const atomic_bool *stop; // set from outside: ask nothing more, finish what is under way
};

// What came of a task.
struct engine_result {
  const char *task;
  int64_t given_up;    // steps whose server failed as often as it is asked
  int64_t steps, best; // best: number of the fastest right step, -1: none
  double best_ns, floor_ns;
  int64_t asked, code, built, right; // the funnel: requests, those with code, that builds, that is right
  int64_t verdict;                   // of the best
  int64_t final;                     // of the best once more, by questions that no feedback mentioned; 0: not judged
  bool final_right;
  double final_ns;
  bool complete;               // the method has nothing more to ask, or `stopped`
  char stopped[64];            // why it needed no more, before the method had ended; ""
  struct assay_error blocked;  // status is not OK: the task could not be described or judged here, and why
  struct assay_error unserved; // status is not OK: its next request was not served in this process, and why
};

struct engine_summary {
  struct engine_result *results; // of all tasks, in their order; the engine's until engine_summary_release
  int n;
  int64_t asked, judged;                   // in this process
  int64_t unanswered;                      // requests of this process without a whole reply
  char failure[ASSAY_ERROR_MESSAGE_BYTES]; // what was wrong with the last of them
  const char *ended; // why nothing more was asked, where the tasks are not complete: "budget: 10 calls"; ""
  char why[256];
  struct engine_absence *absences; // of all models, in their order; the engine's, as the results are
  int n_models;
  // What was under way when a process of the run ended: at most so much. usd: NaN where no price is known.
  int64_t lost_calls, lost_tokens;
  double lost_usd;
};

// ASSAY_OK also where the budget ended the run or it was stopped, and where some of the models failed; the summary says
// so. A status: all endpoints, the store or a prompt failed, or no request at all was answered. The summary is filled
// in any case.
enum assay_status engine_run(const struct engine_options *o, struct engine_summary *out, struct assay_error *err);
// The run again from what is stored of it, without a model and a judge; store, run, prompts, settings, form, rungs,
// models, tasks and judging are used. *steps: how many were compared. ASSAY_ERR_CORRUPT with the first difference.
enum assay_status engine_replay(const struct engine_options *o, int64_t *steps, struct assay_error *err);

// The first prompt of a task, as it would be sent.
enum assay_status engine_first_prompt(const struct engine_options *o, const struct engine_task *task,
                                      struct buf *prompt, struct assay_error *err);

void engine_summary_release(struct engine_summary *s);

// Whether every text that the method may need is there and can be read: what is found out after replies were paid for
// costs them, as other texts are another run. ASSAY_ERR_SYNTAX says where.
enum assay_status asking_check_texts(const struct engine_options *o, struct assay_error *err);

#endif
