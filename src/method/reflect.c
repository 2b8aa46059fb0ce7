// SPDX-License-Identifier: Apache-2.0
// reflect: the cycle of GEAK v1 (AMD-AGI's OptimAgent): a kernel, what the judge found, a reflection on it in prose,
// and the next kernel. With a pool of the fastest correct kernels the next one is to be faster: while the last was
// correct, or after several failures in a row. GEAK's second version lets its pool lose the best kernel; this one does
// not.
#include <math.h>

#include "method/method.h"

enum { POOL = 5, MOST_DEBUG_TRIES = 5 };

// A kernel whose time is not known is behind all whose time is.
static double slowness(const struct made_step *s) {
  return isnan(s->time_ns) ? INFINITY : s->time_ns;
}

// The fastest correct kernels of the lane, the slowest of them first, as models learn from the trend.
static int fill_pool(const struct method_view *v, int64_t lane, int64_t pool[POOL]) {
  int n = 0;
  for (int64_t i = 0; i < v->n; i++) {
    const struct made_step *s = &v->steps[i];
    if (s->lane != lane || !s->right || step_repeats_itself(v, i))
      continue;
    int at = 0;
    while (at < n && slowness(s) <= slowness(&v->steps[pool[at]]))
      at++;
    if (n == POOL && at == 0)
      continue; // slower than all of a full pool
    if (n == POOL) {
      for (int k = 0; k + 1 < at; k++)
        pool[k] = pool[k + 1];
      pool[at - 1] = i;
      continue;
    }
    for (int k = n; k > at; k--)
      pool[k] = pool[k - 1];
    pool[at] = i;
    n++;
  }
  return n;
}

static int64_t last_reflection(const struct method_view *v, int64_t lane) {
  for (int64_t i = v->n - 1; i >= 0; i--)
    if (v->steps[i].lane == lane)
      return v->steps[i].outcome == STORE_TEXT ? i : -1;
  return -1;
}

static int failures_in_a_row(const struct method_view *v, int64_t lane) {
  int n = 0;
  for (int64_t i = v->n - 1; i >= 0 && !(v->steps[i].lane == lane && v->steps[i].right); i--)
    n += v->steps[i].lane == lane && v->steps[i].outcome != STORE_TEXT;
  return n;
}

static struct method_plan plan_lane(const struct method_view *v, int64_t lane) {
  struct method_plan plan = method_plan_first(v, lane);
  int64_t pool[POOL], last = steps_last(v, lane), reflection = last_reflection(v, lane);
  int n = fill_pool(v, lane, pool);
  plan.model = (int)(lane % v->settings->n_models);
  if (last < 0 || !step_has_verdict(&v->steps[last])) {
    plan.note = last;
    if (n == 0)
      return plan;
  }
  if (last >= 0 && step_has_verdict(&v->steps[last]) && reflection < 0) {
    plan.kind = "reflect";
    plan.prose = true;
    plan.parent = last;
    return plan;
  }
  plan.idea = reflection;
  if (n > 0 && (v->steps[last].right || failures_in_a_row(v, lane) >= MOST_DEBUG_TRIES)) {
    plan.kind = "improve";
    plan.parent = pool[n - 1];
    for (int i = 0; i + 1 < n; i++)
      plan.shown[plan.n_shown++] = pool[i];
  } else {
    plan.kind = step_has_verdict(&v->steps[last]) ? "repair" : "improve";
    plan.parent = step_has_verdict(&v->steps[last]) ? last : pool[n - 1];
  }
  return plan;
}

static int reflect_next(const struct method_view *v, struct method_plan *plans, int most) {
  int n = 0;
  for (int64_t i = 0; i < v->settings->samples && n < most; i++)
    if (steps_count(v, i) < v->settings->turns)
      plans[n++] = plan_lane(v, i);
  return n;
}

// A reflection between any two kernels.
static int64_t reflect_most(const struct method_settings *s) {
  return s->samples * (2 * (int64_t)s->turns - 1);
}

const struct method method_reflect = {"reflect",
                                      "turns with a reflection between them, and a pool of the fastest kernels",
                                      1,
                                      10,
                                      reflect_next,
                                      reflect_most,
                                      NULL,
                                      NULL,
                                      METHOD_KINDS("repair", "improve", "reflect", )};
