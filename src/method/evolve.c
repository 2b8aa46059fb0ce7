// SPDX-License-Identifier: Apache-2.0
// evolve: islands of kernels that learn from each other. A round of an island is an idea in prose, then a kernel by it
// that goes on from a parent. Parents are drawn by how fast they are, less often the more children they have
// (ShinkaEvolve's weights); every few rounds an island's parent is the best of another island.
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "method/method.h"

enum { MIGRATION_ROUNDS = 5, MOST_SHOWN_VARIANTS = 3, MOST_POOL = 4096 };

struct pool {
  int64_t members[MOST_POOL]; // right and new kernels of the island, by number
  double weights[MOST_POOL];
  int n;
};

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double middle(double *x, int n) {
  qsort(x, (size_t)n, sizeof *x, by_value);
  return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

// The slowest time that is known of the pool; 1 where none is.
static double slowest(const struct method_view *v, const struct pool *p) {
  double worst = NAN;
  for (int i = 0; i < p->n; i++)
    worst = fmax(worst, v->steps[p->members[i]].time_ns);
  return isnan(worst) ? 1 : worst;
}

// Faster is better: minus the logarithm of the time. A kernel without a time counts as the slowest that has one.
static double fitness(const struct made_step *s, double slowest_ns) {
  return -log(isnan(s->time_ns) ? slowest_ns : s->time_ns);
}

static int children_of(const struct method_view *v, int64_t parent) {
  int n = 0;
  for (int64_t i = 0; i < v->n; i++)
    n += v->steps[i].parent == parent && v->steps[i].outcome != STORE_TEXT;
  return n;
}

static void gather(const struct method_view *v, int64_t island, struct pool *p) {
  static const double steepness = 10;
  double scratch[MOST_POOL], median, spread;
  p->n = 0;
  for (int64_t i = 0; i < v->n && p->n < MOST_POOL; i++)
    if (v->steps[i].lane == island && v->steps[i].right && !step_repeats_itself(v, i))
      p->members[p->n++] = i;
  if (p->n == 0)
    return;
  double worst = slowest(v, p);
  for (int i = 0; i < p->n; i++)
    scratch[i] = fitness(&v->steps[p->members[i]], worst);
  median = middle(scratch, p->n);
  for (int i = 0; i < p->n; i++)
    scratch[i] = fabs(fitness(&v->steps[p->members[i]], worst) - median);
  spread = middle(scratch, p->n);
  spread = spread > 1e-9 ? spread : 1;
  for (int i = 0; i < p->n; i++) {
    double s = steepness * (fitness(&v->steps[p->members[i]], worst) - median) / spread;
    p->weights[i] = 1 / (1 + exp(-s)) / (1 + children_of(v, p->members[i]));
  }
}

static int64_t draw(const struct pool *p, uint64_t bits) {
  double sum = 0;
  for (int i = 0; i < p->n; i++)
    sum += p->weights[i];
  double left = rng_unit(bits) * sum;
  for (int i = 0; i < p->n; i++)
    if ((left -= p->weights[i]) < 0)
      return p->members[i];
  return p->members[p->n - 1];
}

// The parent of the island's next kernel; -1: none is right yet.
static int64_t choose_parent(const struct method_view *v, int64_t island, int64_t round) {
  static _Thread_local struct pool pool; // large
  int islands = v->settings->samples;
  if (islands > 1 && round % MIGRATION_ROUNDS == MIGRATION_ROUNDS - 1) {
    int64_t guest = steps_best(v, (island + 1) % islands);
    if (guest >= 0)
      return guest;
  }
  gather(v, island, &pool);
  // By the step's number, so that the choice does not depend on when replies came.
  return pool.n ? draw(&pool, rng_mix64(rng_derive(v->settings->seed, (uint64_t)(island << 32 | round)))) : -1;
}

// The newest other kernels of the island that were judged, to learn from.
static void show_others(const struct method_view *v, struct method_plan *plan) {
  for (int64_t i = v->n - 1; i >= 0 && plan->n_shown < MOST_SHOWN_VARIANTS; i--)
    if (v->steps[i].lane == plan->lane && v->steps[i].outcome == STORE_JUDGED && i != plan->parent)
      plan->shown[plan->n_shown++] = i;
}

static int64_t last_of_lane(const struct method_view *v, int64_t lane) {
  for (int64_t i = v->n - 1; i >= 0; i--)
    if (v->steps[i].lane == lane)
      return i;
  return -1;
}

// The models in turn, but for those whose endpoint is absent.
static int choose_model(const struct method_view *v, int64_t round) {
  int n = v->settings->n_models;
  for (int i = 0; i < n; i++)
    if (!steps_model_is_absent(v, (int)((round + i) % n)))
      return (int)((round + i) % n);
  return (int)(round % n);
}

static struct method_plan plan_island(const struct method_view *v, int64_t island) {
  struct method_plan plan = method_plan_first(v, island);
  int64_t round = steps_count(v, island), last = last_of_lane(v, island), parent = choose_parent(v, island, round);
  plan.model = choose_model(v, round);
  if (last >= 0 && v->steps[last].outcome == STORE_TEXT) { // the idea is there: the kernel by it
    plan.kind = "variant";
    plan.parent = v->steps[last].parent;
    plan.idea = last;
    plan.model = v->steps[last].model;
  } else if (parent >= 0) {
    plan.kind = "idea";
    plan.prose = true;
    plan.parent = parent;
    show_others(v, &plan);
  } else if (last >= 0 && step_has_verdict(&v->steps[last])) {
    plan.kind = "repair";
    plan.parent = last;
  }
  return plan;
}

static int evolve_next(const struct method_view *v, struct method_plan *plans, int most) {
  int n = 0;
  for (int64_t i = 0; i < v->settings->samples && n < most; i++)
    if (steps_count(v, i) < v->settings->turns)
      plans[n++] = plan_island(v, i);
  return n;
}

// An idea before each kernel but an island's first.
static int64_t evolve_most(const struct method_settings *s) {
  return s->samples * (2 * (int64_t)s->turns - 1);
}

const struct method method_evolve = {"evolve",
                                     "islands (--attempts) that go on from fast kernels by ideas in prose",
                                     3,
                                     20,
                                     evolve_next,
                                     evolve_most,
                                     NULL,
                                     NULL,
                                     METHOD_KINDS("repair", "idea", "variant", )};
