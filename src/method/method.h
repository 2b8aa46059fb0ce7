// SPDX-License-Identifier: Apache-2.0
// Methods: small controllers that say what a model is asked next, from what came of the steps before. They are pure
// functions of the steps: the same steps give the same requests, on any machine, in any order of arrival. The engine
// (engine.h) asks, extracts, builds, judges and remembers.
#ifndef METHOD_METHOD_H
#define METHOD_METHOD_H

#include "assay/verdict.h"
#include "store/step.h"

// A step that is finished.
struct made_step {
  int64_t number, parent, lane, same_as, verdict;
  int model; // index of the run's models
  enum store_outcome outcome;
  enum assay_reason reason; // of its verdict, where it has one
  bool right;               // its verdict is a pass, and its time is not suspicious
  bool unserved;   // the endpoint failed: it is of no lane (STEP_NO_LANE), and methods ask again what it was to ask
  bool given_up;   // the endpoint failed as often as it is asked: an attempt without a reply
  double time_ns;  // of a right one; NaN: not known
  double floor_ns; // the least time for the task, as its verdict has it; NaN: not known
  double usd;      // what it cost; NaN: not known
  // Heap, NULL where there is none: hashes of the code without its layout, and of what was built of it
  // (assay_verdict.built_hash). Its texts stay in the store (making_text): a run may have many thousands of steps.
  char *hash, *built;
};

enum { STEP_NO_LANE = -2 };

struct method;
struct method_settings {
  const struct method *method;
  int samples; // how many attempts, trajectories or islands
  int turns;   // requests of each, one after the other
  int n_models;
  double temperature; // NaN: the server's default
  bool feed_best;     // swarm: the best kernel goes on
  uint64_t seed;      // of all choices
};

// What is known of a model.
struct method_lesson {
  int64_t asked, right; // attempts, and those with a right kernel
  int64_t timed;        // right ones that were to improve a kernel, where both times are known
  double gain;          // what they gained together: 1 - time / time before, 0 where that is not more
  int64_t priced;       // attempts whose cost is known
  double usd;           // of those
};
enum { METHOD_MOST_MODELS = 16 };

// What a method sees: the first n steps of a task, and what other tasks of the run teach of its models (n_models; NULL:
// nothing).
struct method_view {
  const struct method_settings *settings;
  const struct made_step *steps;
  int64_t n;
  const struct method_lesson *lessons;
};

// A request that a method wants.
enum { METHOD_MOST_SHOWN = 6 };
struct method_plan {
  const char *kind; // the prompt's name: "first", "repair", "improve"
  int model;
  int64_t parent; // the step whose code and feedback the prompt has; -1: none
  int64_t lane;
  int64_t note;                     // the step of whose outcome the prompt says something more; -1: none
  int64_t shown[METHOD_MOST_SHOWN]; // other attempts to show
  int n_shown;
  int64_t idea;       // the step whose prose the prompt has; -1: none
  bool prose;         // the answer is prose
  double temperature; // NaN: the server's default
  int cap_doublings;  // the usual cap on tokens, doubled so often: the reply before was cut off
  bool learns;        // its model was chosen by what is known of the models, the view's lessons included
};

struct method {
  const char *name, *text;
  int samples, turns; // the usual numbers
  // The next round: up to `most` requests that need nothing of each other. 0: the task is done.
  int (*next)(const struct method_view *v, struct method_plan *plans, int most);
  // How many requests of a task there are at most, prose included.
  int64_t (*most)(const struct method_settings *s);
  // Of methods that choose models by what is known of them, else NULL: how many of the steps were chosen so, and what a
  // task teaches, up to that many of them; it is added.
  int64_t (*choices)(const struct method_view *v);
  void (*teach)(const struct method_view *v, int64_t choices, struct method_lesson *lessons);
  const char *const *kinds; // of its plans; NULL ends them
};
#define METHOD_KINDS(...)                                                                                              \
  (const char *const[]) {                                                                                              \
    "first", __VA_ARGS__ NULL                                                                                          \
  }
enum { METHOD_MOST_ROUND = 64 };

// The i-th method, NULL after the last; and by name, ASSAY_ERR_USAGE with the names that there are.
const struct method *method_at(int i);
enum assay_status method_by_name(const char *name, const struct method **out, struct assay_error *err);

// --- what methods have in common (steps.c)

// A plan for a lane: nothing but the question, of the first model.
struct method_plan method_plan_first(const struct method_view *v, int64_t lane);

// Whether the step has code that its own lane had before. What another lane had is new to this one.
bool step_repeats_itself(const struct method_view *v, int64_t number);
// The fastest right step (of a lane; -1: of all), the first of equals and where no time is known; -1: none.
int64_t steps_best(const struct method_view *v, int64_t lane);
// The last step of a lane that is no prose; -1: none. And how many there are.
int64_t steps_last(const struct method_view *v, int64_t lane);
int64_t steps_count(const struct method_view *v, int64_t lane);
// When a task needs no more requests, whatever the method: its fastest right kernel reaches this part of the floor
// (floor over time; 0: never), or this many requests in a row, prose included, brought neither the first right kernel
// nor one that is at least STOP_GAIN faster than all before (0: any number). Says why; false: it goes on.
#define STOP_GAIN 0.02
struct method_stop {
  double part_of_floor;
  int64_t patience;
};
bool steps_stop(const struct method_view *v, const struct method_stop *stop, char *why, size_t size);
// How many steps there were then; all where it goes on.
int64_t steps_until_stop(const struct method_view *v, const struct method_stop *stop);
// How much a task needs one more request, after `begun` of them: most where no kernel is right, then by the distance of
// its fastest one to the floor, in powers of two; the less the more it had. INFINITY: it had none.
double steps_need(const struct method_view *v, int64_t begun, double floor_ns);
// Whether a model's endpoint failed a short while ago: the others go on without it, and now and then it is asked again.
bool steps_model_is_absent(const struct method_view *v, int model);
// Whether the step has code that was judged.
bool step_has_verdict(const struct made_step *s);
// How many steps of the task were served.
int64_t steps_served(const struct method_view *v);

extern const struct method method_greedy, method_sample, method_refine, method_reflect, method_evolve, method_swarm;

#endif
