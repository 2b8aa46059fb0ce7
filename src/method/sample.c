// SPDX-License-Identifier: Apache-2.0
// greedy: one request, at temperature 0. sample: k independent requests; with several models, in turn.
#include "method/method.h"

static struct method_plan plan_attempt(const struct method_view *v, int64_t lane) {
  struct method_plan plan = method_plan_first(v, lane);
  plan.model = (int)(lane % v->settings->n_models);
  return plan;
}

// Attempts that were not served, then those that were not asked for yet: a lane is an attempt. Rounds are planned when
// all before them is done, and lanes are asked in their order, so that lanes up to `next` were asked for.
static int sample_next(const struct method_view *v, struct method_plan *plans, int most) {
  int64_t next = 0;
  int n = 0;
  for (int64_t i = 0; i < v->n; i++)
    next = v->steps[i].lane >= next ? v->steps[i].lane + 1 : next;
  if (v->n > steps_served(v)) // some were asked for in vain
    for (int64_t lane = 0; lane < next && n < most; lane++)
      if (steps_last(v, lane) < 0)
        plans[n++] = plan_attempt(v, lane);
  for (int64_t lane = next; lane < v->settings->samples && n < most; lane++)
    plans[n++] = plan_attempt(v, lane);
  return n;
}

static int greedy_next(const struct method_view *v, struct method_plan *plans, int most) {
  if (steps_served(v) > 0 || most < 1)
    return 0;
  plans[0] = method_plan_first(v, 0);
  plans[0].temperature = 0;
  return 1;
}

static int64_t greedy_most(const struct method_settings *s) {
  (void)s;
  return 1;
}

static int64_t sample_most(const struct method_settings *s) {
  return s->samples;
}

const struct method method_greedy = {
    "greedy", "one request, at temperature 0", 1, 1, greedy_next, greedy_most, NULL, NULL, METHOD_KINDS()};
const struct method method_sample = {
    "sample", "independent requests (--attempts)", 10, 1, sample_next, sample_most, NULL, NULL, METHOD_KINDS()};
