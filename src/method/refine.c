// SPDX-License-Identifier: Apache-2.0
// refine: trajectories of several turns. A turn goes on from the last attempt with what the judge found (repair), or,
// once there is a correct kernel, from the fastest correct one (improve): a later turn cannot lose it. After two
// failures in a row to improve it, the next turn starts again from it.
#include "method/method.h"

enum { MOST_FAILURES = 2, MOST_DOUBLINGS = 3 };

// Steps of the lane, the newest first, that are not right since the last one that is, and those that were cut off.
static int64_t failures_in_a_row(const struct method_view *v, int64_t lane) {
  int64_t n = 0;
  for (int64_t i = v->n - 1; i >= 0; i--) {
    if (v->steps[i].lane != lane)
      continue;
    if (v->steps[i].right)
      break;
    n++;
  }
  return n;
}

static int cut_off_in_a_row(const struct method_view *v, int64_t lane) {
  int n = 0;
  for (int64_t i = v->n - 1; i >= 0 && n < MOST_DOUBLINGS; i--) {
    if (v->steps[i].lane != lane)
      continue;
    if (v->steps[i].outcome != STORE_CUT_OFF)
      break;
    n++;
  }
  return n;
}

// The newest step of the lane with code that was judged; -1: none.
static int64_t last_judged(const struct method_view *v, int64_t lane) {
  for (int64_t i = v->n - 1; i >= 0; i--)
    if (v->steps[i].lane == lane && step_has_verdict(&v->steps[i]))
      return i;
  return -1;
}

static struct method_plan plan_turn(const struct method_view *v, int64_t lane) {
  struct method_plan plan = method_plan_first(v, lane);
  int64_t last = steps_last(v, lane), judged = last_judged(v, lane), best = steps_best(v, lane);
  plan.model = (int)(lane % v->settings->n_models);
  plan.cap_doublings = cut_off_in_a_row(v, lane);
  if (last >= 0 && (!step_has_verdict(&v->steps[last]) || step_repeats_itself(v, last)))
    plan.note = last; // no code, or the same again: the prompt says so
  if (best >= 0 && (v->steps[judged].right || failures_in_a_row(v, lane) > MOST_FAILURES)) {
    plan.kind = "improve";
    plan.parent = best;
    if (judged != best) // an attempt that was slower, or failed: it is shown, so that it is not tried again
      plan.shown[plan.n_shown++] = judged;
  } else if (judged >= 0) {
    plan.kind = "repair";
    plan.parent = judged;
  }
  return plan;
}

static int refine_next(const struct method_view *v, struct method_plan *plans, int most) {
  int lanes = v->settings->samples < most ? v->settings->samples : most, n = 0;
  for (int i = 0; i < lanes; i++) // in step, but for those whose endpoint failed
    if (steps_count(v, i) < v->settings->turns)
      plans[n++] = plan_turn(v, i);
  return n;
}

static int64_t refine_most(const struct method_settings *s) {
  return (int64_t)s->samples * s->turns;
}

const struct method method_refine = {"refine",
                                     "trajectories (--attempts) of several turns (--turns) with the judge's findings",
                                     1,
                                     10,
                                     refine_next,
                                     refine_most,
                                     NULL,
                                     NULL,
                                     METHOD_KINDS("repair", "improve", )};
