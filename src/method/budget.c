// SPDX-License-Identifier: Apache-2.0
// What a run may use up, and what it has used up: reserved before a request is sent, settled after it.
#include "method/budget.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "model/client.h"

int64_t budget_cap(const struct engine *e, const struct pending *p) {
  return e->o->max_tokens << p->plan.cap_doublings;
}

size_t budget_most_bytes(const struct engine *e, const struct pending *p) {
  bool counts = e->o->budget.tokens > 0 || e->o->budget.usd > 0;
  return e->o->models[p->plan.model].program && counts ? model_estimate_bytes(budget_cap(e, p)) : 0;
}

int64_t budget_input(const struct pending *p) {
  return model_estimate_tokens(strlen(p->system) + 1 + strlen(p->prompt) + (size_t)p->partial_bytes);
}

int64_t budget_tokens(const struct engine *e, const struct pending *p) {
  return budget_input(p) + budget_cap(e, p);
}

// What it may cost at most; 0 where the price is not known.
double budget_usd(const struct engine *e, const struct pending *p) {
  const struct model_usage u = {
      .input = budget_input(p), .cached = -1, .written = -1, .output = budget_cap(e, p), .reasoning = -1};
  double usd = model_price(e->o->models[p->plan.model].price, &u);
  return isnan(usd) ? 0 : usd;
}

// What a request of unknown cost may have cost at most, to a budget; 0 where the price is not known either.
double budget_at_most_usd(const struct engine_model *to, int64_t input, int64_t output, int64_t calls) {
  const struct model_usage u = {.input = input, .cached = -1, .written = -1, .output = output, .reasoning = -1};
  double usd = model_price(to->price, &u);
  return isnan(usd) ? 0 : usd * (double)(calls > 1 ? calls : 1);
}

static bool add_unknown(void *arg, const struct store_step *s) {
  struct engine *e = arg;
  const struct engine_options *o = e->o;
  bool lost = strcmp(s->finish, STORE_UNDER_WAY) == 0;
  if (lost) {
    e->lost_calls += s->calls;
    e->lost_tokens += s->input_tokens + s->output_tokens;
  }
  for (int i = 0; i < o->settings.n_models && isnan(s->usd); i++)
    if (strcmp(o->models[i].name, s->model) == 0) {
      int64_t calls = s->calls > 1 ? s->calls : 1, said = s->output_tokens / calls;
      int64_t output = said > o->max_tokens ? said : o->max_tokens;
      double usd = lost ? budget_at_most_usd(&o->models[i], s->input_tokens, s->output_tokens, 1)
                        : budget_at_most_usd(&o->models[i], s->input_tokens / calls, output, calls);
      e->at_most_usd += usd;
      e->lost_usd += lost ? (o->models[i].price ? usd : NAN) : 0;
      break;
    }
  return true;
}

enum assay_status budget_recall(struct engine *e, struct assay_error *err) {
  struct store_cost spent = {0};
  enum assay_status status = store_sum_steps(e->o->store, e->o->run, &spent, err);
  e->calls = spent.calls;
  e->tokens = spent.tokens;
  e->usd = spent.usd;
  e->cpu_ns = spent.cpu_ns;
  e->gpu_ns = spent.gpu_ns;
  e->without_price = spent.without_price > 0;
  atomic_store(&e->spare_calls, e->o->budget.calls - e->calls);
  if (!status && (spent.lost_calls > 0 || (e->o->budget.usd > 0 && e->without_price)))
    status = store_each_step(e->o->store, e->o->run, NULL, add_unknown, e, err);
  return status;
}

// How long it takes at most until all is done: the longest request, and then one judgement after the other.
static int64_t expected_wall_ns(const struct engine *e, int64_t steps) {
  return e->most_model_ns + steps * e->most_judge_ns;
}

// Whether so much time was used up, with `steps` more reserved.
static bool is_used_up(int64_t budget_ns, int64_t used_ns, int64_t most_ns, int64_t steps) {
  return budget_ns > 0 && (used_ns >= budget_ns || used_ns + steps * most_ns > budget_ns);
}

static void say_no_calls(struct engine *e) {
  snprintf(e->why, sizeof e->why, "the budget of %lld calls is used up", (long long)e->o->budget.calls);
}

// Whether one more request is within the budget, with what others under way may cost at most (reserved 1) or without
// (0); else e->why says which part is used up.
static bool is_within(struct engine *e, const struct pending *p, int reserved) {
  const struct engine_budget *b = &e->o->budget;
  int64_t steps = 1 + reserved * (e->under_way + e->waiting);
  double used_usd = e->usd + e->at_most_usd;
  int64_t wall_ns = clock_monotonic_ns() - e->start_ns;
  if (b->calls && atomic_load(&e->spare_calls) < 1)
    say_no_calls(e);
  else if (b->tokens && e->tokens + reserved * e->reserved_tokens + budget_tokens(e, p) > b->tokens)
    snprintf(e->why, sizeof e->why,
             "the budget of %lld tokens is used up: %lld are left, and a request may take %lld with this --max-tokens",
             (long long)b->tokens, (long long)(b->tokens > e->tokens ? b->tokens - e->tokens : 0),
             (long long)budget_tokens(e, p));
  else if (b->usd > 0 && used_usd + reserved * e->reserved_usd + budget_usd(e, p) > b->usd)
    snprintf(e->why, sizeof e->why,
             "the budget of %g USD %s: %.3g are left, and a request may cost %.3g with this --max-tokens", b->usd,
             e->at_most_usd > 0 ? "may be used up, as some replies' cost is not known" : "is used up",
             b->usd > used_usd ? b->usd - used_usd : 0, budget_usd(e, p));
  else if (b->wall_ns && wall_ns + expected_wall_ns(e, steps) > b->wall_ns)
    snprintf(e->why, sizeof e->why, "the budget of %lld s %s", (long long)(b->wall_ns / 1000000000),
             wall_ns > b->wall_ns ? "is used up" : "has no room for one more request and its judgement");
  else if (is_used_up(b->cpu_ns, e->cpu_ns, e->most_cpu_ns, steps))
    snprintf(e->why, sizeof e->why, "the budget of %g s of processors is used up", (double)b->cpu_ns / 1e9);
  else if (is_used_up(b->gpu_ns, e->gpu_ns, e->most_gpu_ns, steps))
    snprintf(e->why, sizeof e->why, "the budget of %g s of the GPU is used up", (double)b->gpu_ns / 1e9);
  else
    return true;
  return false;
}

// Others' retries, in the client's thread, may have taken the last one.
static bool take_call(struct engine *e) {
  if (e->o->budget.calls == 0 || atomic_fetch_sub(&e->spare_calls, 1) > 0)
    return true;
  atomic_fetch_add(&e->spare_calls, 1);
  say_no_calls(e);
  return false;
}

// Takes a call of the budget where one more request may be sent now. Where only what is under way may be too much, it
// may cost less than it may at most: that is waited for. Else the run ends.
bool budget_takes(struct engine *e, const struct pending *p) {
  if (is_within(e, p, 1) && take_call(e))
    return true;
  bool goes_on = e->under_way > 0;
  for (int i = 0; i < e->o->n_tasks && !goes_on; i++)
    goes_on = making_is_ready(&e->tasks[i]);
  if (!goes_on || !is_within(e, p, 0))
    e->ended = e->why;
  return false;
}
