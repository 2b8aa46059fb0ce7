// SPDX-License-Identifier: Apache-2.0
// greedy: one request, at temperature 0. sample: k independent requests; with several models, in turn.
#include "method/method.h"

static int sample_next(const struct method_view *v, struct method_plan *plans, int most) {
  int64_t left = v->settings->samples - v->n;
  int n = left < most ? (int)left : most;
  for (int i = 0; i < n; i++) {
    plans[i] = method_plan_first(v, v->n + i);
    plans[i].model = (int)((v->n + i) % v->settings->n_models);
  }
  return n < 0 ? 0 : n;
}

static int greedy_next(const struct method_view *v, struct method_plan *plans, int most) {
  if (v->n > 0 || most < 1)
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

const struct method method_greedy = {"greedy", "one request, at temperature 0", 1, 1, greedy_next, greedy_most};
const struct method method_sample = {"sample", "independent requests (--samples)", 10, 1, sample_next, sample_most};
