// SPDX-License-Identifier: Apache-2.0
// swarm: several models at once; the fastest correct kernel of all wins. As Gimlet Labs' post of 2025-08 has it, each
// model repairs its own kernel until it is correct, five tries at most, and nothing is fed on. With --feed-best the
// turns that are left go on: the best kernel of all is what every model is asked to improve, and a bandit says which
// model: by its gains for what it costs, and by how seldom it was asked (UCB1).
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

// What a model's turns of the second part have brought: the mean gain over the parent, 0 to 1, for their mean cost in
// that of all models' turns, of those turns whose cost is known; no model is more than ten times as cheap as the mean,
// or one turn of a model that costs next to nothing would be all that counts.
static double worth_of(const struct method_view *v, int model, double mean_usd) {
  static const double cheapest = 0.1;
  double gain = 0, usd = 0;
  int64_t n = 0, priced = 0, all = 0;
  for (int64_t i = 0; i < v->n; i++) {
    const struct made_step *s = &v->steps[i];
    if (s->lane < lanes_of(v))
      continue;
    all++;
    if (s->model != model)
      continue;
    n++;
    priced += !isnan(s->usd);
    usd += isnan(s->usd) ? 0 : s->usd;
    double before = s->parent >= 0 ? v->steps[s->parent].time_ns : NAN;
    double g = s->right && s->time_ns < before ? 1 - s->time_ns / before : 0;
    gain += g;
  }
  if (n == 0)
    return INFINITY;
  double cost = mean_usd > 0 && priced > 0 ? fmax(usd / (double)priced / mean_usd, cheapest) : 1;
  return gain / (double)n / cost + sqrt(2 * log((double)all) / (double)n);
}

static bool all_are_absent(const struct method_view *v) {
  for (int i = 0; i < v->settings->n_models; i++)
    if (!steps_model_is_absent(v, i))
      return false;
  return true;
}

static int choose_model(const struct method_view *v) {
  double usd = 0, best_worth = -1;
  int best = 0;
  int64_t n = 0;
  for (int64_t i = 0; i < v->n; i++)
    if (v->steps[i].lane >= lanes_of(v) && !isnan(v->steps[i].usd)) {
      usd += v->steps[i].usd;
      n++;
    }
  bool nobody = all_are_absent(v);
  for (int i = 0; i < v->settings->n_models; i++) {
    if (!nobody && steps_model_is_absent(v, i))
      continue;
    double worth = worth_of(v, i, n ? usd / (double)n : 0);
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
  if (last >= 0 && last != best && step_has_verdict(&v->steps[last]) && v->steps[last].same_as < 0)
    plans[0].shown[plans[0].n_shown++] = last;
  return 1;
}

static int64_t swarm_most(const struct method_settings *s) {
  int turns = s->feed_best || s->turns < MOST_TRIES ? s->turns : MOST_TRIES;
  return (int64_t)s->n_models * s->samples * turns;
}

const struct method method_swarm = {
    "swarm", "several models at once, the fastest correct kernel of all", 1, 5, swarm_next, swarm_most};
