// SPDX-License-Identifier: Apache-2.0
#include "task/lint.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "task/check.h"
#include "task/linter.h"
#include "task/shapes.h"

enum { REPLICAS = 4 };

// ---- draws and answers ----------------------------------------------------------------------------------------------

static enum assay_status make_draw(struct linter *l, uint64_t key, struct lint_draw *d) {
  d->inputs = arena_calloc(&l->arena, (size_t)l->t->n_inputs + 1, sizeof *d->inputs);
  if (!d->inputs)
    return error_nomem(l->err, "the linter's inputs");
  enum assay_status status = task_draw_inputs(l->t, l->w, PROBE_DECLARED, key, l->threads, d->inputs, l->err);
  struct arith contract = l->t->contract.arith;
  contract.key = rng_derive(key, 1);
  if (!status)
    status =
        oracle_answer_make(task_oracle_graph(l->t), d->inputs, &contract, REPLICAS, l->threads, &d->answer, l->err);
  return status;
}

struct lint_truth linter_truth(const struct linter *l, int draw, int output) {
  const struct oracle_answer *a = &l->draws[draw].answer;
  return (struct lint_truth){.y = &a->y[output],
                             .sigma = a->sigma[output],
                             .rtol = l->t->rtol,
                             .atol = l->t->atol,
                             .u_out = l->t->contract.u_out,
                             .eta_out = l->t->contract.eta_out};
}

// ---- findings -------------------------------------------------------------------------------------------------------

#define LINT_NAME(name, code, text, advice) code,
static const char *const code_names[LINT_CODE_COUNT] = {LINT_CODES(LINT_NAME)};
#define LINT_TEXT(name, code, text, advice) text,
static const char *const code_texts[LINT_CODE_COUNT] = {LINT_CODES(LINT_TEXT)};
#define LINT_ADVICE(name, code, text, advice) advice,
static const char *const code_advices[LINT_CODE_COUNT] = {LINT_CODES(LINT_ADVICE)};

const char *lint_code_name(enum lint_code c) {
  return (unsigned)c < LINT_CODE_COUNT ? code_names[c] : "unknown";
}
const char *lint_code_text(enum lint_code c) {
  return (unsigned)c < LINT_CODE_COUNT ? code_texts[c] : "unknown";
}
const char *lint_code_advice(enum lint_code c) {
  return (unsigned)c < LINT_CODE_COUNT ? code_advices[c] : "";
}

// Reads one "code: reason" or "code@loose: reason" at *s, which moves past it and its ';'.
static enum assay_status allow_item(const char **s, enum lint_code *code, bool *loose_only, struct assay_error *err) {
  const char *at = *s + strspn(*s, " ");
  size_t len = strcspn(at, "@:;");
  int found = -1;
  for (int i = 0; i < LINT_CODE_COUNT; i++)
    if (strlen(code_names[i]) == len && memcmp(code_names[i], at, len) == 0)
      found = i;
  if (found < 0)
    return error_set(err, ASSAY_ERR_INVALID,
                     "'%.40s' begins with none of the linter's codes (zeros, constant, input, "
                     "affine, shuffled, other_draw, insensitive, constant_output, one_sided)",
                     at);
  at += len;
  *loose_only = strncmp(at, "@loose", 6) == 0;
  at += *loose_only ? 6 : 0;
  size_t reason = *at == ':' ? strcspn(at + 1, ";") : 0;
  if (strspn(at + (*at == ':'), " ") >= reason)
    return error_set(err, ASSAY_ERR_SYNTAX, "a reason is expected after '%s' (write \"%s: why it is inherent\")",
                     code_names[found], code_names[found]);
  *code = (enum lint_code)found;
  at += 1 + reason;
  *s = at + (*at == ';');
  return ASSAY_OK;
}

enum assay_status lint_check_allow(const char *text, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  while (*text && !status) {
    enum lint_code code;
    bool loose_only;
    status = allow_item(&text, &code, &loose_only, err);
  }
  return status;
}

static bool is_allowed(const struct task *t, enum lint_code code, unsigned rules) {
  const char *text = model_property(&t->model, "assay.lint.allow");
  struct assay_error ignored = {0};
  while (text && *text) {
    enum lint_code listed;
    bool loose_only;
    if (allow_item(&text, &listed, &loose_only, &ignored))
      return false;
    if (listed == code && (!loose_only || rules == 1u << LINT_LOOSE))
      return true;
  }
  return false;
}

static void range_of(const struct array *y, double *low, double *high) {
  *low = INFINITY;
  *high = -INFINITY;
  for (int64_t k = 0; k < shape_count(&y->shape); k++) {
    *low = fmin(*low, lint_number(y, k));
    *high = fmax(*high, lint_number(y, k));
  }
}

static void describe(const struct linter *l, struct lint_finding *f) {
  const struct graph *g = &l->t->model.flat;
  char rules[64] = "";
  for (int r = 0; r < LINT_RULE_COUNT; r++)
    if (f->rules >> r & 1)
      snprintf(rules + strlen(rules), sizeof rules - strlen(rules), "%s%s", *rules ? ", " : " under ",
               lint_rule_name(r));
  snprintf(f->text, sizeof f->text,
           "%.96s%s%.96s: %s%s (right outputs from %.3g to %.3g; worst error %.2g of the 1e-2 "
           "allowance)",
           g->values[g->outputs[f->output]].name, f->input >= 0 ? ", input " : "",
           f->input >= 0 ? l->t->inputs[f->input].name : "", lint_code_text(f->code), rules, f->y_low, f->y_high,
           f->worst);
}

void linter_add(struct linter *l, enum lint_code code, unsigned rules, int output, int input, double worst) {
  bool allowed = is_allowed(l->t, code, rules);
  l->report->n_open += !allowed;
  if (l->report->n_findings == LINT_MAX_FINDINGS)
    return;
  struct lint_finding *f = &l->report->findings[l->report->n_findings++];
  *f = (struct lint_finding){.code = code, .rules = rules, .output = output, .input = input, .worst = worst};
  range_of(&l->draws[0].answer.y[task_has_check(l->t) ? 0 : output], &f->y_low, &f->y_high);
  f->allowed = allowed;
  describe(l, f);
}

// ---- wrong answers --------------------------------------------------------------------------------------------------

// Makes the wrong answer to a draw in `wrong` (of the output's type and shape). False: there is none.
struct shortcut {
  enum lint_code code;
  int output, input;
  bool (*make)(const struct linter *l, const struct shortcut *s, int draw, struct array *wrong);
  double slope, offset; // of a line
};

static const struct array *answer_to(const struct linter *l, const struct shortcut *s, int draw) {
  return &l->draws[draw].answer.y[s->output];
}

static bool make_line(const struct linter *l, const struct shortcut *s, int draw, struct array *wrong) {
  const struct array *x = s->input >= 0 ? &l->draws[draw].inputs[s->input] : NULL;
  for (int64_t k = 0; k < shape_count(&wrong->shape); k++) {
    double v = s->offset + (x ? s->slope * lint_number(x, k) : 0);
    if (dtype_is_float(wrong->dtype))
      wrong->f64[k] = v;
    else
      wrong->i64[k] = (int64_t)nearbyint(v);
  }
  return true;
}

// Fisher and Yates' shuffle with a fixed key.
static bool make_shuffled(const struct linter *l, const struct shortcut *s, int draw, struct array *wrong) {
  int64_t n = shape_count(&wrong->shape);
  memcpy(wrong->bits, answer_to(l, s, draw)->bits, (size_t)n * sizeof *wrong->bits);
  for (int64_t k = n - 1; k > 0; k--) {
    int64_t other = (int64_t)(rng_mix64((uint64_t)k) % (uint64_t)(k + 1));
    uint64_t kept = wrong->bits[k];
    wrong->bits[k] = wrong->bits[other];
    wrong->bits[other] = kept;
  }
  return n > 1;
}

static bool make_other_draw(const struct linter *l, const struct shortcut *s, int draw, struct array *wrong) {
  const struct array *other = answer_to(l, s, (draw + 1) % LINT_DRAWS);
  memcpy(wrong->bits, other->bits, (size_t)shape_count(&wrong->shape) * sizeof *wrong->bits);
  return true;
}

static void offer(struct linter *l, const struct shortcut *s, struct array *wrong) {
  int taken[LINT_RULE_COUNT] = {0};
  double nearest = INFINITY;
  for (int d = 0; d < LINT_DRAWS; d++) {
    double worst;
    if (!s->make(l, s, d, wrong))
      return;
    struct lint_truth truth = linter_truth(l, d, s->output);
    unsigned rules = lint_accepts(&truth, wrong, &worst);
    for (int r = 0; r < LINT_RULE_COUNT; r++)
      taken[r] += rules >> r & 1;
    nearest = fmin(nearest, worst);
  }
  unsigned rules = 0;
  for (int r = 0; r < LINT_RULE_COUNT; r++)
    rules |= (unsigned)(taken[r] >= LINT_MAJORITY) << r;
  if (rules)
    linter_add(l, s->code, rules, s->output, s->input, nearest);
}

// The best line from an input (or, with none, the mean) to the output over all draws, by least squares.
static void fit_line(const struct linter *l, struct shortcut *s) {
  double n = 0, x_sum = 0, y_sum = 0, xx = 0, xy = 0;
  for (int d = 0; d < LINT_DRAWS; d++) {
    const struct array *y = answer_to(l, s, d), *x = s->input >= 0 ? &l->draws[d].inputs[s->input] : NULL;
    for (int64_t k = 0; k < shape_count(&y->shape); k++) {
      double u = x ? lint_number(x, k) : 0, v = lint_number(y, k);
      if (!isfinite(u) || !isfinite(v))
        continue;
      n++;
      x_sum += u;
      y_sum += v;
      xx += u * u;
      xy += u * v;
    }
  }
  double spread = n * xx - x_sum * x_sum;
  s->slope = spread > 0 ? (n * xy - x_sum * y_sum) / spread : 0;
  s->offset = n > 0 ? (y_sum - s->slope * x_sum) / n : 0;
}

static void try_lines(struct linter *l, int output, struct array *wrong) {
  struct shortcut zeros = {.code = LINT_ZEROS, .output = output, .input = -1, .make = make_line};
  offer(l, &zeros, wrong);
  struct shortcut mean = {.code = LINT_CONSTANT, .output = output, .input = -1, .make = make_line};
  fit_line(l, &mean);
  offer(l, &mean, wrong);
  int64_t n = shape_count(&wrong->shape);
  for (int i = 0; i < l->t->n_inputs; i++) {
    if (n < 2 || shape_count(&l->shapes[i].shape) != n || !dtype_is_float(l->shapes[i].dtype))
      continue;
    struct shortcut same = {.code = LINT_INPUT, .output = output, .input = i, .make = make_line, .slope = 1};
    offer(l, &same, wrong);
    struct shortcut line = {.code = LINT_AFFINE, .output = output, .input = i, .make = make_line};
    fit_line(l, &line);
    offer(l, &line, wrong);
  }
}

// ---- checks of the right answers alone ------------------------------------------------------------------------------

static void check_constant_output(struct linter *l, int output) {
  for (int d = 0; d < LINT_DRAWS; d++) {
    const struct array *y = &l->draws[d].answer.y[output];
    double low, high;
    range_of(y, &low, &high);
    if (shape_count(&y->shape) < 2 || low != high)
      return;
  }
  linter_add(l, LINT_CONSTANT_OUTPUT, 0, output, -1, 0);
}

static void check_casts(struct linter *l) {
  bool open = false;
  for (int d = 0; d < LINT_DRAWS; d++)
    open = open || l->draws[d].answer.open_casts;
  if (open)
    linter_add(l, LINT_OPEN_CASTS, 0, 0, -1, 0);
}

static bool all_elementwise(const struct graph *g) {
  for (int i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op->class != OP_ELEMENTWISE && g->nodes[i].op->class != OP_CONSTANT)
      return false;
  return g->n_nodes > 0;
}

static bool straight(const struct lint_report *r) {
  for (int i = 0; i < r->n_findings; i++)
    if (r->findings[i].code == LINT_AFFINE && r->findings[i].rules & 1u << LINT_CONTRACT)
      return true;
  return false;
}

// A nonlinear function of one input can differ for negative and positive values, so the draws should have both.
static void check_one_sided(struct linter *l) {
  if (!all_elementwise(&l->t->model.flat) || l->t->n_inputs != 1 || straight(l->report))
    return;
  double low = INFINITY, high = -INFINITY;
  for (int d = 0; d < LINT_DRAWS; d++) {
    double a, b;
    range_of(&l->draws[d].inputs[0], &a, &b);
    low = fmin(low, a);
    high = fmax(high, b);
  }
  if (low >= 0 || high <= 0)
    linter_add(l, LINT_ONE_SIDED, 0, 0, 0, 0);
}

// A judgement asks at shapes that nobody knew before: a neighbour, multiples and mixed extents at least.
static enum assay_status check_shapes(struct linter *l) {
  struct shape_ranges ranges;
  struct shape_request r = {.task = l->t,
                            .ranges = &ranges,
                            .judged = l->w,
                            .most_work = 2 * shape_work(l->t, l->w),
                            .key = 1,
                            .arena = &l->arena};
  enum assay_status status = shape_ranges_find(l->t, &l->arena, &ranges, l->err);
  bool all = true;
  for (int k = 0; k < SHAPE_REDUCED && !status; k++) {
    struct workload drawn;
    bool found;
    status = shape_draw(&r, (enum shape_kind)k, &drawn, &found, l->err);
    all = all && found;
  }
  if (!status && !all)
    linter_add(l, LINT_FEW_SHAPES, 0, 0, -1, 0);
  return status;
}

// Results so far for answers that were made with one input of another draw.
struct replacement {
  int input;
  int (*taken)[LINT_RULE_COUNT]; // of each output: for how many draws a rule took the answer
  double nearest;
};

static enum assay_status replace_input(struct linter *l, int draw, struct replacement *p, struct array *mixed,
                                       struct array *y) {
  memcpy(mixed, l->draws[draw].inputs, (size_t)l->t->n_inputs * sizeof *mixed);
  mixed[p->input] = l->draws[(draw + 1) % LINT_DRAWS].inputs[p->input];
  struct oracle_request r = {
      .graph = &l->t->model.flat, .inputs = mixed, .arith = arith_truth(&l->t->contract.arith), .threads = l->threads};
  enum assay_status status = oracle_eval(&r, y, l->err);
  for (int o = 0; o < l->t->n_outputs && !status; o++) {
    double worst;
    struct lint_truth truth = linter_truth(l, draw, o);
    unsigned rules = lint_accepts(&truth, &y[o], &worst);
    for (int k = 0; k < LINT_RULE_COUNT; k++)
      p->taken[o][k] += rules >> k & 1;
    p->nearest = fmin(p->nearest, worst);
    array_release(&y[o]);
  }
  return status;
}

// The rules that take the answers of most draws for every output, or still can if they take all of the draws that are
// left. (An input matters when any output changes with it.)
static unsigned insensitive_rules(const struct linter *l, const struct replacement *p, int left) {
  unsigned all = (1u << LINT_RULE_COUNT) - 1;
  for (int o = 0; o < l->t->n_outputs; o++)
    for (int k = 0; k < LINT_RULE_COUNT; k++)
      if (p->taken[o][k] + left < LINT_MAJORITY)
        all &= ~(1u << k);
  return all;
}

static enum assay_status check_input(struct linter *l, int input, struct array *y) {
  if (shape_count(&l->draws[0].inputs[input].shape) == 0) // only its extents are read
    return ASSAY_OK;
  struct replacement p = {.input = input, .nearest = INFINITY};
  struct arena arena = {0};
  struct array *mixed = arena_calloc(&arena, (size_t)l->t->n_inputs + 1, sizeof *mixed);
  p.taken = arena_calloc(&arena, (size_t)l->t->n_outputs + 1, sizeof *p.taken);
  enum assay_status status = mixed && p.taken ? ASSAY_OK : error_nomem(l->err, "the linter");
  unsigned rules = 1;
  for (int d = 0; d < LINT_DRAWS && rules && !status; d++) {
    status = replace_input(l, d, &p, mixed, y);
    rules = insensitive_rules(l, &p, LINT_DRAWS - 1 - d);
  }
  if (!status && rules)
    linter_add(l, LINT_INSENSITIVE, rules, 0, input, p.nearest);
  arena_release(&arena);
  return status;
}

static enum assay_status check_output(struct linter *l, int output) {
  const struct array *y = &l->draws[0].answer.y[output];
  struct array wrong;
  enum assay_status status = array_create(y->dtype, &y->shape, &wrong, l->err);
  if (status)
    return status;
  try_lines(l, output, &wrong);
  struct shortcut shuffled = {.code = LINT_SHUFFLED, .output = output, .input = -1, .make = make_shuffled};
  offer(l, &shuffled, &wrong);
  struct shortcut other = {.code = LINT_OTHER_DRAW, .output = output, .input = -1, .make = make_other_draw};
  offer(l, &other, &wrong);
  check_constant_output(l, output);
  array_release(&wrong);
  return ASSAY_OK;
}

static void release(struct linter *l) {
  for (int d = 0; d < LINT_DRAWS; d++) {
    for (int i = 0; i < l->t->n_inputs && l->draws[d].inputs; i++)
      array_release(&l->draws[d].inputs[i]);
    oracle_answer_release(&l->draws[d].answer);
  }
  arena_release(&l->arena);
}

enum assay_status lint_task(const struct task *t, const struct workload *w, uint64_t key, int threads,
                            struct lint_report *out, struct assay_error *err) {
  struct linter l = {.t = t, .w = w ? w : task_workload(t, "small"), .threads = threads, .report = out, .err = err};
  *out = (struct lint_report){.workload = l.w->name, .draws = LINT_DRAWS};
  l.shapes = arena_calloc(&l.arena, (size_t)t->n_inputs + 1, sizeof *l.shapes);
  struct array *y = arena_calloc(&l.arena, (size_t)t->n_outputs + 1, sizeof *y);
  enum assay_status status = l.shapes && y ? ASSAY_OK : error_nomem(err, "the linter");
  if (!status)
    status = task_input_shapes(t, l.w, l.shapes, err);
  for (int d = 0; d < LINT_DRAWS && !status; d++)
    status = make_draw(&l, rng_derive(key, (uint64_t)d), &l.draws[d]);
  for (int o = 0; o < t->n_outputs && !status && !task_has_check(t); o++)
    status = check_output(&l, o);
  if (!status && task_has_check(t))
    status = lint_checked(&l);
  if (!status)
    check_one_sided(&l);
  if (!status)
    check_casts(&l);
  if (!status)
    status = check_shapes(&l);
  for (int i = 0; i < t->n_inputs && !status && !task_has_check(t); i++)
    status = check_input(&l, i, y);
  if (status)
    status = error_prefix(err, status, "%s, workload %s: ", t->path, l.w->name);
  release(&l);
  return status;
}
