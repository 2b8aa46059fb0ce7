// SPDX-License-Identifier: Apache-2.0
// Drawing shapes from their ranges.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "task/metadata.h"
#include "task/shapes.h"

static const char *const kind_names[SHAPE_KIND_COUNT] = {
#define SHAPE_KIND_NAME(name, text) [SHAPE_##name] = text,
    SHAPE_KINDS(SHAPE_KIND_NAME)
#undef SHAPE_KIND_NAME
};

const char *shape_kind_name(enum shape_kind k) {
  return (unsigned)k < SHAPE_KIND_COUNT ? kind_names[k] : "unknown";
}

// Extents of "multiples" and "mixed" are at most this to begin with: most shapes that kernels meet are small in most
// extents, and the judged shape is large already.
enum { LARGEST_DRAWN = 640, TRIES = 48, FEW_TRIES = 8, SMALL_STEPS = 7 };

struct draft {
  const struct shape_request *r;
  int n;
  const struct shape_symbol *symbols;
  struct workload w;
  struct binding *bindings; // in the order of the symbols
  uint64_t key, drawn;
};

static uint64_t number_below(struct draft *d, uint64_t n) {
  return rng_secret(d->key, d->drawn++) % n;
}

static double unit(struct draft *d) {
  return rng_unit(rng_secret(d->key, d->drawn++));
}

double shape_work(const struct task *t, const struct workload *w) {
  struct task_cost c;
  struct assay_error ignored = {0};
  if (metadata_check_symbols(t, w, &ignored) || task_cost(t, w, &c, &ignored))
    return INFINITY;
  if (c.output_bytes <= 0)
    return INFINITY; // nothing to compare
  // An operation of a contraction takes the oracle much less than another one, or an element.
  return c.flops + c.contraction_flops / 8 + (c.input_bytes + c.output_bytes) / 4;
}

// ---- values

static int64_t least_of(const struct shape_symbol *s) {
  return (s->low + s->step - 1) / s->step * s->step;
}

// Only multiples of the step are drawn, so nothing is left over in those that follow.
static void settle(struct draft *d) {
  shape_settle(d->r->ranges, d->bindings);
}

static double work(struct draft *d) {
  settle(d);
  for (int i = 0; i < d->n; i++)
    if (d->bindings[i].value < 1)
      return INFINITY;
  return shape_work(d->r->task, &d->w);
}

static bool start(struct draft *d) {
  for (int i = 0; i < d->n; i++) {
    d->bindings[i] = (struct binding){d->symbols[i].symbol, workload_value(d->r->judged, d->symbols[i].symbol)};
    if (d->bindings[i].value < 1)
      return false;
  }
  return true;
}

static int count_free(const struct draft *d) {
  int n = 0;
  for (int i = 0; i < d->n; i++)
    n += d->symbols[i].freedom == SHAPE_FREE;
  return n;
}

// The index of the free symbol number k.
static int free_number(const struct draft *d, int k) {
  for (int i = 0; i < d->n; i++)
    if (d->symbols[i].freedom == SHAPE_FREE && k-- == 0)
      return i;
  return -1;
}

static double times_least(const struct draft *d, int i) {
  return (double)d->bindings[i].value / (double)least_of(&d->symbols[i]);
}

// Halves the free extent that is largest next to its least value, `but` excepted, to a multiple of what it is a
// multiple of. False: all are as small as they can be.
static bool shrink(struct draft *d, int but, int64_t *factor) {
  int worst = -1;
  double most = 1;
  for (int i = 0; i < d->n; i++) {
    const struct shape_symbol *s = &d->symbols[i];
    int64_t unit = factor ? factor[i] : s->step;
    if (s->freedom != SHAPE_FREE || i == but || d->bindings[i].value / 2 / unit * unit < least_of(s) ||
        d->bindings[i].value < 2 * unit)
      continue;
    double times = times_least(d, i);
    if (times > most) {
      most = times;
      worst = i;
    }
  }
  if (worst < 0)
    return false;
  const struct shape_symbol *s = &d->symbols[worst];
  int64_t unit = factor ? factor[worst] : s->step, half = d->bindings[worst].value / 2;
  half -= half % unit;
  if (unit == s->step && s->step % 4 && d->bindings[worst].value % 4 && half % 4 == 0 && half - unit >= least_of(s))
    half -= unit; // no multiple of 4 becomes one
  // The halves of a ragged extent are to be as ragged: odd stays odd, twice an odd number stays that.
  if (unit == 1 && d->bindings[worst].value % 4 == 2 && half - 2 > least_of(s))
    half -= (half - 2) & 3;
  else if (unit == 1 && half > least_of(s))
    half -= (half ^ d->bindings[worst].value) & 1;
  // And what is no power of two does not become one.
  int64_t quarter = half / 4;
  if (unit > s->step && (half & (half - 1)) == 0 && quarter >= 4 && quarter % s->step == 0) {
    half -= quarter;
    factor[worst] = quarter;
  }
  d->bindings[worst].value = half;
  return true;
}

// Where even the least multiples are too much work: smaller factors, and in the end none but that of one extent.
static bool ease(struct draft *d, int64_t *factor) {
  int largest = -1, round = 0;
  for (int i = 0; i < d->n; i++) {
    if (d->symbols[i].freedom != SHAPE_FREE || factor[i] <= d->symbols[i].step)
      continue;
    round++;
    if (largest < 0 || factor[i] > factor[largest] ||
        (factor[i] == factor[largest] && times_least(d, i) > times_least(d, largest)))
      largest = i;
  }
  if (largest < 0)
    return false;
  int64_t half = factor[largest] / 2, step = d->symbols[largest].step;
  if (half >= 4 && half % step == 0)
    factor[largest] = half;
  else if (round > 1)
    factor[largest] = step;
  else
    return false;
  return true;
}

static void fit(struct draft *d, int kept, int64_t *factor) {
  double now = work(d);
  while (isfinite(now) && now > d->r->most_work) {
    if (!shrink(d, kept, factor) && !shrink(d, -1, factor) && !(factor && ease(d, factor)))
      return;
    now = work(d);
  }
}

// ---- kinds

// Some extents a little off. The one that is off for certain is kept when the others must be smaller.
static void draw_neighbour(struct draft *d) {
  int certain = free_number(d, (int)number_below(d, (uint64_t)count_free(d)));
  for (int i = 0; i < d->n; i++) {
    const struct shape_symbol *s = &d->symbols[i];
    if (s->freedom != SHAPE_FREE || (i != certain && number_below(d, 2)))
      continue;
    int64_t by = (1 + (int64_t)number_below(d, 3)) * s->step, v = d->bindings[i].value;
    bool up = number_below(d, 2);
    if (up ? v + by > s->high : v - by < s->low) // the range ends here: kernels may say that they go no further
      up = !up;
    if (up ? v + by <= s->high : v - by >= s->low)
      d->bindings[i].value = up ? v + by : v - by;
  }
  fit(d, certain, NULL);
}

// A value of about every magnitude alike.
static int64_t log_uniform(struct draft *d, const struct shape_symbol *s) {
  double low = (double)s->low, high = fmax(low, fmin((double)s->high, fmax(LARGEST_DRAWN, 2 * low)));
  return (int64_t)(low * pow(high / low, unit(d)) + 0.5);
}

static int64_t common_multiple(int64_t a, int64_t b) {
  int64_t x = a, y = b;
  while (y) {
    int64_t rest = x % y;
    x = y;
    y = rest;
  }
  return a / x * b;
}

// A number near v that is no multiple of 4. Every other one is where kernels that work on tiles or on vectors are often
// wrong, and others are right: one less than a multiple of 16, or twice an odd number.
static int64_t ragged(struct draft *d, int64_t v, int64_t high) {
  const uint64_t which = number_below(d, 4);
  const int64_t r = which == 0 ? v / 16 * 16 + 15 : which == 1 ? v / 4 * 4 + 2 : v | 1;
  return r > high ? high - !(high & 1) : r;
}

// `round`: a multiple of 4, 16 or 64, the largest of them that the range has; else a number without such a factor.
static void draw_extent(struct draft *d, int i, bool round, int64_t *factor) {
  static const int64_t factors[] = {4, 16, 64};
  const struct shape_symbol *s = &d->symbols[i];
  int64_t v = log_uniform(d, s);
  factor[i] = s->step;
  if (round) {
    for (int k = (int)number_below(d, 3); k >= 0 && factor[i] == s->step; k--)
      if (common_multiple(factors[k], s->step) <= s->high)
        factor[i] = common_multiple(factors[k], s->step);
    v = (v + factor[i] - 1) / factor[i] * factor[i];
    v = v > s->high ? s->high / factor[i] * factor[i] : v;
    for (int k = 0; k < 4 && (v & (v - 1)) == 0 && v + factor[i] <= s->high; k++)
      v += factor[i]; // kernels know powers of two
  } else if (s->step % 2) {
    v = ragged(d, v, s->high);
  }
  v = v / s->step * s->step;
  v = v < least_of(s) ? least_of(s) : v;
  if (!round && s->step % 4 && v % 4 == 0) // the next multiple of the step is none of 4
    v += v + s->step <= s->high ? s->step : v - s->step >= least_of(s) ? -s->step : 0;
  d->bindings[i].value = v;
}

// All extents that can be are as the smallest one, like those of square matrices: a kernel may be right for others
// only.
static void make_alike(struct draft *d, int64_t *factor) {
  int least = -1;
  for (int i = 0; i < d->n; i++)
    if (d->symbols[i].freedom == SHAPE_FREE && (least < 0 || d->bindings[i].value < d->bindings[least].value))
      least = i;
  for (int i = 0; i < d->n && least >= 0; i++) {
    const struct shape_symbol *s = &d->symbols[i];
    int64_t v = d->bindings[least].value;
    if (s->freedom != SHAPE_FREE || v % s->step || v < s->low || v > s->high)
      continue;
    d->bindings[i].value = v;
    factor[i] = common_multiple(factor[least], s->step);
  }
}

// Whether the output is no larger when this symbol is: then it is summed over.
static bool is_summed(struct draft *d, int i) {
  struct task_cost before, after;
  struct assay_error ignored = {0};
  int64_t kept = d->bindings[i].value;
  settle(d);
  bool known = task_cost(d->r->task, &d->w, &before, &ignored) == ASSAY_OK;
  d->bindings[i].value = kept + d->symbols[i].step;
  settle(d);
  known = known && task_cost(d->r->task, &d->w, &after, &ignored) == ASSAY_OK;
  d->bindings[i].value = kept;
  return known && after.output_bytes == before.output_bytes;
}

// Every third time one sum has two to four terms, for which a kernel may have a way of its own; it stays round or
// ragged. Only where outputs are sums of products and nothing else (those tasks have the probe): of what is normalized
// over so few elements nothing is left.
static void shorten(struct draft *d, const int64_t *factor) {
  if (!(task_default_probes(d->r->task) & 1u << PROBE_TINY) || number_below(d, 3) != 0)
    return;
  for (int i = 0; i < d->n; i++) {
    const struct shape_symbol *s = &d->symbols[i];
    if (s->freedom != SHAPE_FREE || s->step != 1 || s->low > 2 || s->high < 4 || !is_summed(d, i))
      continue;
    d->bindings[i].value = factor[i] > 1 ? 4 : 2 + (int64_t)number_below(d, 2);
    return;
  }
}

static void draw_from_ranges(struct draft *d, bool mixed, int64_t *factor) {
  int n = count_free(d), round = (int)number_below(d, (uint64_t)n);
  int odd = n > 1 ? (round + 1 + (int)number_below(d, (uint64_t)n - 1)) % n : 0; // a single one is round in the others
  for (int k = 0; k < n; k++) {
    bool is_round = !mixed || (k != odd && (k == round || number_below(d, 2)));
    draw_extent(d, free_number(d, k), is_round, factor);
  }
  if (mixed)
    shorten(d, factor);
  else if (number_below(d, 2))
    make_alike(d, factor);
  fit(d, -1, factor);
}

// The symbol of extent k from the end of the input with the most dimensions, or -1.
static int row_symbol(const struct draft *d, int k) {
  const struct graph *g = &d->r->task->model.flat;
  const struct value *widest = NULL;
  for (int i = 0; i < g->n_inputs; i++) {
    const struct value *v = &g->values[g->inputs[i]];
    if (!widest || v->rank > widest->rank)
      widest = v;
  }
  if (!widest || k >= widest->rank || !widest->dims[widest->rank - 1 - k].symbol)
    return -1;
  for (int i = 0; i < d->n; i++)
    if (strcmp(d->symbols[i].symbol, widest->dims[widest->rank - 1 - k].symbol) == 0)
      return d->symbols[i].freedom == SHAPE_FOLLOWS ? d->symbols[i].other : i;
  return -1;
}

// Gives a free symbol its judged value back, if the shape stays within that work.
static bool restore(struct draft *d, int i, double most_work) {
  int64_t judged = workload_value(d->r->judged, d->symbols[i].symbol), kept = d->bindings[i].value;
  if (d->symbols[i].freedom != SHAPE_FREE || kept == judged)
    return false;
  d->bindings[i].value = judged;
  double now = work(d);
  if (now <= most_work)
    return true;
  d->bindings[i].value = kept;
  settle(d);
  return false;
}

// Every extent small, then those that are summed over as judged, then those of rows, as far as the work allows.
static bool draw_reduced(struct draft *d) {
  bool any = false;
  double most = fmin(d->r->most_work, work(d) / 4);
  for (int i = 0; i < d->n; i++) {
    const struct shape_symbol *s = &d->symbols[i];
    int64_t small = s->freedom == SHAPE_FREE ? least_of(s) + (int64_t)number_below(d, SMALL_STEPS) * s->step : 0;
    if (s->freedom == SHAPE_FREE && small < d->bindings[i].value)
      d->bindings[i].value = small;
  }
  if (!isfinite(work(d)))
    return false;
  for (int i = 0; i < d->n; i++)
    if (d->symbols[i].freedom == SHAPE_FREE && is_summed(d, i))
      any = restore(d, i, most) || any;
  int row = row_symbol(d, 0), column = row_symbol(d, 1);
  if (row >= 0 && restore(d, row, most))
    any = (column >= 0 && restore(d, column, most)) || true;
  return any;
}

// ---- the whole

static bool same_shape(const struct workload *a, const struct workload *b) {
  for (int i = 0; i < a->n; i++)
    if (workload_value(b, a->bindings[i].symbol) != a->bindings[i].value)
      return false;
  return true;
}

static bool is_known(const struct draft *d) {
  const struct task *t = d->r->task;
  bool known = same_shape(&d->w, d->r->judged);
  for (int i = 0; i < t->n_workloads; i++)
    known = known || same_shape(&d->w, &t->workloads[i]);
  return known;
}

static bool draw_once(struct draft *d, enum shape_kind kind, int64_t *factor) {
  if (!start(d))
    return false;
  switch (kind) {
  case SHAPE_NEIGHBOUR:
    draw_neighbour(d);
    break;
  case SHAPE_REDUCED:
    if (!draw_reduced(d))
      return false;
    break;
  default:
    draw_from_ranges(d, kind == SHAPE_MIXED, factor);
  }
  return isfinite(work(d)) && !is_known(d);
}

enum assay_status shape_draw(const struct shape_request *r, enum shape_kind kind, struct workload *out, bool *found,
                             struct assay_error *err) {
  struct draft d = {.r = r, .n = r->ranges->n, .symbols = r->ranges->symbols};
  int64_t *factor = arena_calloc(r->arena, (size_t)d.n + 1, sizeof *factor);
  d.bindings = arena_calloc(r->arena, (size_t)d.n + 1, sizeof *d.bindings);
  if (!factor || !d.bindings)
    return error_nomem(err, "a drawn shape");
  d.w = (struct workload){.name = shape_kind_name(kind), .n = d.n, .bindings = d.bindings};
  *found = false;
  const int tries =
      kind == SHAPE_REDUCED ? FEW_TRIES : TRIES; // if it fails, then mostly because nothing can be reduced
  for (int i = 0; i < tries && !*found && count_free(&d) > 0; i++) {
    d.key = rng_secret(rng_derive(r->key, kind), (uint64_t)i);
    d.drawn = 0;
    *found = draw_once(&d, kind, factor);
  }
  *out = d.w;
  return ASSAY_OK;
}
