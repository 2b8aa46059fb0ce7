// SPDX-License-Identifier: Apache-2.0
// The linter's half for tasks whose outputs a check judges (task/check.h): wrong outputs in the place of one of the
// right ones, or of all of them, go through the check. A rule takes them if it takes all that the check makes of them.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "task/check.h"
#include "task/linter.h"

struct checked {
  struct linter *l;
  struct array *right[LINT_DRAWS]; // outputs of each draw
  struct array *offered, *judged;
};

struct wrong {
  enum lint_code code;
  int output; // -1: all of them
  int input;
};

enum { ALL = (1 << LINT_RULE_COUNT) - 1 };

// The rules that take the offered outputs for a draw. What the check cannot take at all none of them does.
static enum assay_status accepts(const struct checked *c, int draw, unsigned *rules, double *worst) {
  const struct linter *l = c->l;
  enum assay_status status = check_eval(l->t, l->draws[draw].inputs, c->offered, l->threads, c->judged, l->err);
  *rules = status ? 0 : ALL;
  if (status == ASSAY_ERR_INVALID || status == ASSAY_ERR_UNSUPPORTED) {
    memset(l->err, 0, sizeof *l->err);
    return ASSAY_OK;
  }
  for (int i = 0; i < l->draws[draw].answer.n_outputs && !status; i++) {
    double off;
    struct lint_truth truth = linter_truth(l, draw, i);
    *rules &= lint_accepts(&truth, &c->judged[i], &off);
    *worst = fmax(*worst, off);
    array_release(&c->judged[i]);
  }
  return status;
}

static double mean_of(const struct array *y) {
  const int64_t n = shape_count(&y->shape);
  double sum = 0;
  for (int64_t i = 0; i < n; i++)
    sum += lint_number(y, i);
  return n > 0 ? sum / (double)n : 0;
}

static void put(struct array *y, int64_t i, double v) {
  if (dtype_is_float(y->dtype))
    y->f64[i] = v;
  else
    y->i64[i] = (int64_t)nearbyint(v);
}

// Puts the wrong numbers into an output that has the right ones. False: there are none.
static bool spoil(const struct checked *c, const struct wrong *w, int draw, int output) {
  struct array *y = &c->offered[output];
  const int64_t n = shape_count(&y->shape);
  const struct array *x = w->input >= 0 ? &c->l->draws[draw].inputs[w->input] : NULL;
  const struct array *other = &c->right[(draw + 1) % LINT_DRAWS][output];
  if (n == 0 || (x && shape_count(&x->shape) != n) || (w->code == LINT_SHUFFLED && n < 2))
    return false;
  const double mean = mean_of(y);
  for (int64_t i = 0; i < n; i++) {
    int64_t partner = (int64_t)(rng_mix64((uint64_t)i) % (uint64_t)n);
    if (w->code == LINT_SHUFFLED) {
      uint64_t kept = y->bits[i];
      y->bits[i] = y->bits[partner];
      y->bits[partner] = kept;
    } else if (w->code == LINT_OTHER_DRAW) {
      y->bits[i] = other->bits[i];
    } else {
      put(y, i, w->code == LINT_CONSTANT ? mean : x ? lint_number(x, i) : 0);
    }
  }
  return true;
}

static void take_right(const struct checked *c, int draw) {
  for (int o = 0; o < c->l->t->n_outputs; o++)
    memcpy(c->offered[o].bits, c->right[draw][o].bits,
           (size_t)shape_count(&c->offered[o].shape) * sizeof *c->offered[o].bits);
}

static enum assay_status offer(const struct checked *c, const struct wrong *w) {
  int taken[LINT_RULE_COUNT] = {0};
  double nearest = INFINITY;
  unsigned found = 0;
  for (int d = 0; d < LINT_DRAWS; d++) {
    bool any = false;
    unsigned rules;
    double worst = 0;
    take_right(c, d);
    for (int o = 0; o < c->l->t->n_outputs; o++)
      if (w->output < 0 || o == w->output)
        any = spoil(c, w, d, o) || any;
    if (!any)
      return ASSAY_OK;
    enum assay_status status = accepts(c, d, &rules, &worst);
    if (status)
      return status;
    for (int r = 0; r < LINT_RULE_COUNT; r++)
      taken[r] += rules >> r & 1;
    nearest = fmin(nearest, worst);
  }
  for (int r = 0; r < LINT_RULE_COUNT; r++)
    found |= (unsigned)(taken[r] >= LINT_MAJORITY) << r;
  if (found)
    linter_add(c->l, w->code, found, w->output < 0 ? 0 : w->output, w->input, nearest);
  return ASSAY_OK;
}

// Every output alone, next to right ones, and all of them at once.
static enum assay_status offer_all(const struct checked *c) {
  static const enum lint_code codes[] = {LINT_ZEROS, LINT_CONSTANT, LINT_SHUFFLED, LINT_OTHER_DRAW};
  const struct task *t = c->l->t;
  enum assay_status status = ASSAY_OK;
  for (int o = t->n_outputs > 1 ? -1 : 0; o < t->n_outputs; o++) {
    for (size_t k = 0; k < sizeof codes / sizeof *codes && !status; k++)
      status = offer(c, &(struct wrong){codes[k], o, -1});
    for (int i = 0; i < t->n_inputs && o >= 0 && !status; i++)
      status = offer(c, &(struct wrong){LINT_INPUT, o, i});
  }
  return status;
}

// The answer to inputs of which one is another draw's.
static enum assay_status replace_input(const struct checked *c, int input, int draw, unsigned *rules, double *worst) {
  const struct linter *l = c->l;
  struct array *mixed = base_calloc((size_t)l->t->n_inputs + 1, sizeof *mixed);
  struct array *made = base_calloc((size_t)l->t->n_outputs + 1, sizeof *made);
  enum assay_status status = mixed && made ? ASSAY_OK : error_nomem(l->err, "the linter");
  if (!status) {
    memcpy(mixed, l->draws[draw].inputs, (size_t)l->t->n_inputs * sizeof *mixed);
    mixed[input] = l->draws[(draw + 1) % LINT_DRAWS].inputs[input];
    const struct oracle_request r = {
        .graph = &l->t->model.flat, .inputs = mixed, .arith = arith_exact(), .threads = l->threads};
    status = oracle_eval(&r, made, l->err);
  }
  for (int o = 0; o < l->t->n_outputs && !status; o++) {
    memcpy(c->offered[o].bits, made[o].bits, (size_t)shape_count(&made[o].shape) * sizeof *made[o].bits);
    array_release(&made[o]);
  }
  base_free(mixed);
  base_free(made);
  return status ? status : accepts(c, draw, rules, worst);
}

static enum assay_status check_input(const struct checked *c, int input) {
  int taken[LINT_RULE_COUNT] = {0};
  double worst = 0;
  unsigned found = 0;
  if (shape_count(&c->l->draws[0].inputs[input].shape) == 0) // only its extents are read
    return ASSAY_OK;
  for (int d = 0; d < LINT_DRAWS; d++) {
    unsigned rules;
    enum assay_status status = replace_input(c, input, d, &rules, &worst);
    if (status)
      return status;
    for (int r = 0; r < LINT_RULE_COUNT; r++)
      taken[r] += rules >> r & 1;
  }
  for (int r = 0; r < LINT_RULE_COUNT; r++)
    found |= (unsigned)(taken[r] >= LINT_MAJORITY) << r;
  if (found)
    linter_add(c->l, LINT_INSENSITIVE, found, 0, input, worst);
  return ASSAY_OK;
}

static enum assay_status prepare(struct checked *c) {
  struct linter *l = c->l;
  const size_t n_out = (size_t)l->t->n_outputs;
  c->offered = arena_calloc(&l->arena, n_out + 1, sizeof *c->offered);
  c->judged = arena_calloc(&l->arena, (size_t)l->draws[0].answer.n_outputs + 1, sizeof *c->judged);
  enum assay_status status = c->offered && c->judged ? ASSAY_OK : error_nomem(l->err, "the linter");
  for (int d = 0; d < LINT_DRAWS && !status; d++) {
    c->right[d] = arena_calloc(&l->arena, n_out + 1, sizeof *c->right[d]);
    const struct oracle_request r = {
        .graph = &l->t->model.flat, .inputs = l->draws[d].inputs, .arith = arith_exact(), .threads = l->threads};
    status = c->right[d] ? oracle_eval(&r, c->right[d], l->err) : error_nomem(l->err, "the linter");
  }
  for (size_t o = 0; o < n_out && !status; o++)
    status = array_create(c->right[0][o].dtype, &c->right[0][o].shape, &c->offered[o], l->err);
  return status;
}

enum assay_status lint_checked(struct linter *l) {
  struct checked c = {.l = l};
  enum assay_status status = prepare(&c);
  if (!status)
    status = offer_all(&c);
  for (int i = 0; i < l->t->n_inputs && !status; i++)
    status = check_input(&c, i);
  for (int o = 0; o < l->t->n_outputs; o++) {
    for (int d = 0; d < LINT_DRAWS && c.right[d]; d++)
      array_release(&c.right[d][o]);
    if (c.offered)
      array_release(&c.offered[o]);
  }
  return status;
}
