// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/choice.h"
#include "method/method.h"

static const struct method *const methods[] = {&method_greedy,  &method_sample, &method_refine,
                                               &method_reflect, &method_evolve, &method_swarm};
enum { N_METHODS = sizeof methods / sizeof *methods };

const struct method *method_at(int i) {
  return i >= 0 && i < N_METHODS ? methods[i] : NULL;
}

enum assay_status method_by_name(const char *name, const struct method **out, struct assay_error *err) {
  const char *names[N_METHODS + 1] = {NULL};
  for (int i = 0; i < N_METHODS; i++)
    names[i] = methods[i]->name;
  int found = choice_of("a method is", names, name, err);
  if (found < 0)
    return ASSAY_ERR_USAGE;
  *out = methods[found];
  return ASSAY_OK;
}

struct method_plan method_plan_first(const struct method_view *v, int64_t lane) {
  return (struct method_plan){
      .kind = "first", .parent = -1, .note = -1, .idea = -1, .lane = lane, .temperature = v->settings->temperature};
}

static bool in_lane(const struct made_step *s, int64_t lane) {
  return (lane < 0 || s->lane == lane) && s->outcome != STORE_FINAL && !s->unserved;
}

int64_t steps_served(const struct method_view *v) {
  int64_t n = 0;
  for (int64_t i = 0; i < v->n; i++)
    n += !v->steps[i].unserved;
  return n;
}

bool steps_model_is_absent(const struct method_view *v, int model) {
  enum { ABSENT_STEPS = 6 };
  for (int64_t i = v->n - 1; i >= 0 && i >= v->n - ABSENT_STEPS; i--)
    if (v->steps[i].model == model)
      return v->steps[i].unserved;
  return false;
}

bool step_has_verdict(const struct made_step *s) {
  return s->outcome == STORE_JUDGED || s->outcome == STORE_DUPLICATE;
}

bool step_repeats_itself(const struct method_view *v, int64_t number) {
  const struct made_step *s = &v->steps[number];
  for (int64_t i = 0; s->same_as >= 0 && i < number; i++)
    if (v->steps[i].lane == s->lane && (i == s->same_as || v->steps[i].same_as == s->same_as))
      return true;
  return false;
}

int64_t steps_best(const struct method_view *v, int64_t lane) {
  int64_t best = -1;
  for (int64_t i = 0; i < v->n; i++) {
    const struct made_step *s = &v->steps[i];
    if (!in_lane(s, lane) || !s->right || (lane < 0 ? s->same_as >= 0 : step_repeats_itself(v, i)))
      continue;
    if (best < 0 || s->time_ns < v->steps[best].time_ns || (isnan(v->steps[best].time_ns) && !isnan(s->time_ns)))
      best = i;
  }
  return best;
}

static int64_t stops_at(const struct method_view *v, const struct method_stop *stop, char *why, size_t size) {
  double least = INFINITY;
  int64_t in_vain = 0;
  bool right = false;
  for (int64_t i = 0; i < v->n; i++) {
    const struct made_step *s = &v->steps[i];
    if (s->outcome == STORE_FINAL || s->unserved)
      continue;
    in_vain++;
    if (s->right && (!right || s->time_ns <= least * (1 - STOP_GAIN)))
      in_vain = 0;
    right = right || s->right;
    least = s->right && s->time_ns < least ? s->time_ns : least;
    double part = s->right ? s->floor_ns / s->time_ns : NAN;
    if (stop->part_of_floor > 0 && part >= stop->part_of_floor) {
      snprintf(why, size, "%.3g of the floor reached", part);
      return i;
    }
    if (stop->patience > 0 && in_vain >= stop->patience) {
      snprintf(why, size, "no progress in %lld requests", (long long)in_vain);
      return i;
    }
  }
  return -1;
}

bool steps_stop(const struct method_view *v, const struct method_stop *stop, char *why, size_t size) {
  return stops_at(v, stop, why, size) >= 0;
}

int64_t steps_until_stop(const struct method_view *v, const struct method_stop *stop) {
  char why[64];
  int64_t at = stops_at(v, stop, why, sizeof why);
  return at < 0 ? v->n : at + 1;
}

double steps_need(const struct method_view *v, int64_t begun, double floor_ns) {
  static const double not_right = 4, not_known = 1; // as at 16 times the floor, and at twice
  int64_t best = steps_best(v, -1);
  double worth = not_right;
  if (best >= 0) {
    double times = v->steps[best].time_ns / floor_ns;
    worth = !isfinite(times) || times <= 0 ? not_known : times > 1 ? log2(times) : 0;
  }
  return begun > 0 ? worth / (double)(1 + begun) : INFINITY;
}

int64_t steps_last(const struct method_view *v, int64_t lane) {
  for (int64_t i = v->n - 1; i >= 0; i--)
    if (in_lane(&v->steps[i], lane) && v->steps[i].outcome != STORE_TEXT)
      return i;
  return -1;
}

int64_t steps_count(const struct method_view *v, int64_t lane) {
  int64_t n = 0;
  for (int64_t i = 0; i < v->n; i++)
    n += in_lane(&v->steps[i], lane) && v->steps[i].outcome != STORE_TEXT;
  return n;
}
