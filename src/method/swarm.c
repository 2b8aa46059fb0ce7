// SPDX-License-Identifier: Apache-2.0
// swarm: several models at once; the fastest correct kernel of all wins. As Gimlet Labs' post of 2025-08 has it, each
// model repairs its own kernel until it is correct, five tries at most, and nothing is fed on. With --feed-best the
// turns that are left go on: the best kernel of all is what every model is asked to improve, and a bandit says which
// model: by its successes and gains for what it costs, and by how seldom it was asked (UCB1), in this task and in those
// before it (learning.c).
#include <math.h>

#include "method/method.h"

enum { MOST_TRIES = 5 };

static int64_t lanes_of(const struct method_view *v) {
  return (int64_t)v->settings->n_models * v->settings->samples;
}

// A lane of the first part: its tries.
static bool try_again(const struct method_view *v, int64_t lane, struct method_plan *plan) {
  int64_t last = steps_last(v, lane), tries = steps_count(v, lane);
  int most = v->settings->turns < MOST_TRIES ? v->settings->turns : MOST_TRIES;
  if (steps_best(v, lane) >= 0 || tries >= most)
    return false;
  *plan = method_plan_first(v, lane);
  plan->model = (int)(lane % v->settings->n_models);
  plan->note = last >= 0 && !step_has_verdict(&v->steps[last]) ? last : -1;
  for (int64_t i = v->n - 1; i >= 0 && plan->parent < 0; i--)
    if (v->steps[i].lane == lane && step_has_verdict(&v->steps[i]))
      plan->parent = i;
  if (plan->parent >= 0)
    plan->kind = "repair";
  return true;
}

// --- what is known of the models

// Whether the step is a turn of the second part.
static bool is_choice(const struct method_view *v, const struct made_step *s) {
  return s->lane >= lanes_of(v) && s->outcome != STORE_FINAL && !s->unserved;
}

static int64_t swarm_choices(const struct method_view *v) {
  int64_t n = 0;
  for (int64_t i = 0; i < v->n; i++)
    n += is_choice(v, &v->steps[i]);
  return n;
}

// What a turn gained over the kernel that it was to improve; NaN: not known. The same kernel again gained nothing.
static double gain_of(const struct method_view *v, const struct made_step *s) {
  double before = s->parent >= 0 ? v->steps[s->parent].time_ns : NAN;
  if (s->same_as >= 0)
    return 0;
  return s->time_ns < before ? 1 - s->time_ns / before : s->time_ns >= before ? 0 : NAN;
}

static void swarm_teach(const struct method_view *v, int64_t choices, struct method_lesson *lessons) {
  int64_t n = 0;
  for (int64_t i = 0; i < v->n; i++) {
    const struct made_step *s = &v->steps[i];
    bool choice = is_choice(v, s);
    if (choice && n >= choices)
      return;
    if (s->unserved || s->outcome == STORE_FINAL || s->outcome == STORE_TEXT)
      continue;
    struct method_lesson *l = &lessons[s->model];
    double gain = choice && s->right ? gain_of(v, s) : NAN;
    l->asked++;
    l->right += s->right;
    l->timed += !isnan(gain);
    l->gain += isnan(gain) ? 0 : gain;
    l->priced += !isnan(s->usd);
    l->usd += isnan(s->usd) ? 0 : s->usd;
    n += choice;
    if (choice && n == choices)
      return;
  }
}

// What a request to the model is worth: the chance that it brings a right kernel, times what a right one gains, for its
// mean cost in that of all models' requests; and the more, the more seldom the model was asked (UCB1). Of what is not
// known yet, the chance is one half and the gain that of all models together, or one half, as if there was one request
// of that. No model is more than ten times as cheap as the mean, or one that costs next to nothing would be all that
// counts.
static double worth_of(const struct method_lesson *l, const struct method_lesson *all) {
  static const double usual = 0.5, cheapest = 0.1;
  if (l->asked == 0)
    return INFINITY;
  double usual_gain = (all->gain + usual) / ((double)all->timed + 1);
  double chance = ((double)l->right + 1) / ((double)l->asked + 2);
  double gain = (l->gain + usual_gain) / ((double)l->timed + 1);
  double cost =
      all->usd > 0 && l->priced > 0 ? fmax(l->usd / (double)l->priced / (all->usd / (double)all->priced), cheapest) : 1;
  return chance * gain / cost + sqrt(2 * log((double)all->asked) / (double)l->asked);
}

static bool all_are_absent(const struct method_view *v) {
  for (int i = 0; i < v->settings->n_models; i++)
    if (!steps_model_is_absent(v, i))
      return false;
  return true;
}

static int choose_model(const struct method_view *v) {
  struct method_lesson known[METHOD_MOST_MODELS] = {{0}}, all = {0};
  double best_worth = -1;
  int best = 0, n = v->settings->n_models;
  for (int i = 0; i < n && v->lessons; i++)
    known[i] = v->lessons[i];
  swarm_teach(v, INT64_MAX, known);
  for (int i = 0; i < n; i++) {
    all.asked += known[i].asked;
    all.timed += known[i].timed;
    all.gain += known[i].gain;
    all.priced += known[i].priced;
    all.usd += known[i].usd;
  }
  bool nobody = all_are_absent(v);
  for (int i = 0; i < n; i++) {
    double worth = !nobody && steps_model_is_absent(v, i) ? -1 : worth_of(&known[i], &all);
    if (worth > best_worth) {
      best_worth = worth;
      best = i;
    }
  }
  return best;
}

// The models' own tries: of those that answer, or of the others.
static int plan_tries(const struct method_view *v, bool absent, struct method_plan *plans, int most) {
  int n = 0;
  for (int64_t i = 0; i < lanes_of(v) && n < most; i++)
    if (steps_model_is_absent(v, (int)(i % v->settings->n_models)) == absent)
      n += try_again(v, i, &plans[n]);
  return n;
}

static int swarm_next(const struct method_view *v, struct method_plan *plans, int most) {
  int64_t lanes = lanes_of(v), best = steps_best(v, -1);
  int n = plan_tries(v, false, plans, most);
  if (n > 0)
    return n;
  if (!v->settings->feed_best || best < 0 || steps_served(v) >= lanes * v->settings->turns)
    return plan_tries(v, true, plans, most);
  int64_t last = steps_last(v, lanes);
  plans[0] = method_plan_first(v, lanes); // the lane after the models' own
  plans[0].kind = "improve";
  plans[0].parent = best;
  plans[0].model = choose_model(v);
  plans[0].learns = true;
  if (last >= 0 && last != best && step_has_verdict(&v->steps[last]) && v->steps[last].same_as < 0)
    plans[0].shown[plans[0].n_shown++] = last;
  return 1;
}

static int64_t swarm_most(const struct method_settings *s) {
  int turns = s->feed_best || s->turns < MOST_TRIES ? s->turns : MOST_TRIES;
  return (int64_t)s->n_models * s->samples * turns;
}

const struct method method_swarm = {"swarm",
                                    "several models at once, the fastest correct kernel of all",
                                    1,
                                    5,
                                    swarm_next,
                                    swarm_most,
                                    swarm_choices,
                                    swarm_teach,
                                    METHOD_KINDS("repair", "improve", )};
