// SPDX-License-Identifier: Apache-2.0
// Which extents of a task may change, and how far: read from the file, or found out by trying.
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "task/metadata.h"
#include "task/shapes.h"

static int64_t gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

// ---- reading assay.shapes

struct shapes_text {
  const char *at;
  struct shape_ranges *ranges;
  struct assay_error *err;
};

static enum assay_status bad(const struct shapes_text *s, const char *what) {
  return error_set(s->err, ASSAY_ERR_SYNTAX,
                   "assay.shapes, at '%.40s': %s (write \"M=1..4096, K=4..512/4, L=2*K-1\": a range, its step, an "
                   "extent that follows another)",
                   s->at, what);
}

static void skip_space(struct shapes_text *s) {
  while (*s->at == ' ' || *s->at == '\t' || *s->at == '\n')
    s->at++;
}

static bool accept(struct shapes_text *s, const char *word) {
  skip_space(s);
  if (strncmp(s->at, word, strlen(word)) != 0)
    return false;
  s->at += strlen(word);
  return true;
}

// The symbol that stands here, or -1 (and then nothing is read).
static int symbol_here(struct shapes_text *s) {
  skip_space(s);
  size_t n = 0;
  while (isalnum((unsigned char)s->at[n]) || s->at[n] == '_')
    n++;
  for (int i = 0; i < s->ranges->n; i++) {
    const char *name = s->ranges->symbols[i].symbol;
    if (strlen(name) == n && memcmp(name, s->at, n) == 0) {
      s->at += n;
      return i;
    }
  }
  return -1;
}

static enum assay_status whole(struct shapes_text *s, int64_t *out) {
  skip_space(s);
  char *end;
  *out = strtoll(s->at, &end, 10);
  if (!isdigit((unsigned char)*s->at) || *out < 1 || *out > SHAPE_MAX_ELEMENTS)
    return bad(s, "a whole number from 1 on is expected here");
  s->at = end;
  return ASSAY_OK;
}

static enum assay_status read_limit(struct shapes_text *s, struct shape_symbol *out) {
  int other = symbol_here(s);
  out->limit = other + 1;
  out->less = 0;
  if (other < 0)
    return bad(s, "a symbol of the workloads is expected here");
  return accept(s, "-") ? whole(s, &out->less) : ASSAY_OK;
}

static enum assay_status read_range(struct shapes_text *s, struct shape_symbol *out, int64_t low) {
  enum assay_status status = whole(s, &out->high);
  out->freedom = SHAPE_FREE;
  out->low = low;
  out->step = 1;
  if (!status && accept(s, "/"))
    status = whole(s, &out->step);
  if (!status && out->low > out->high)
    status = bad(s, "the range before this is empty");
  if (!status && (out->low + out->step - 1) / out->step * out->step > out->high)
    status = bad(s, "no multiple of the step is in the range before this");
  return !status && accept(s, "<=") ? read_limit(s, out) : status;
}

static enum assay_status read_follower(struct shapes_text *s, struct shape_symbol *out, int64_t up) {
  int64_t n = 0;
  out->freedom = SHAPE_FOLLOWS;
  out->up = up;
  out->down = 1;
  out->other = symbol_here(s);
  enum assay_status status = out->other < 0 ? bad(s, "a symbol of the workloads is expected here") : ASSAY_OK;
  if (!status && accept(s, "/"))
    status = whole(s, &out->down);
  int sign = accept(s, "+") ? 1 : accept(s, "-") ? -1 : 0;
  int with = !status && sign > 0 && out->up == 1 && out->down == 1 ? symbol_here(s) : -1;
  out->with = with + 1;
  if (!status && sign && with < 0)
    status = whole(s, &n);
  out->plus = sign * n;
  return status;
}

// ---- formulas

// Reads and computes at once: the values are those of the symbols, or NULL while the text is read.
struct formula {
  struct shapes_text text;
  const struct binding *values;
  int first;                // the first symbol that it names, or -1
  enum assay_status status; // the first mistake
};

static int64_t formula_sum(struct formula *f);

static int64_t formula_factor(struct formula *f) {
  struct shapes_text *s = &f->text;
  int64_t v = 1;
  if (accept(s, "(")) {
    v = formula_sum(f);
    if (!accept(s, ")") && !f->status)
      f->status = bad(s, "')' is expected here");
    return v;
  }
  int i = symbol_here(s);
  if (i < 0) {
    enum assay_status status = whole(s, &v);
    f->status = f->status ? f->status : status;
    return v;
  }
  f->first = f->first < 0 ? i : f->first;
  return f->values ? f->values[i].value : 1;
}

// What is too large for any shape becomes 0, which no extent is.
static int64_t formula_product(struct formula *f) {
  int64_t v = formula_factor(f);
  while (!f->status) {
    bool times = accept(&f->text, "*");
    if (!times && !accept(&f->text, "/"))
      break;
    int64_t by = formula_factor(f), product;
    if (times)
      v = __builtin_mul_overflow(v, by, &product) ? 0 : product;
    else
      v = by > 0 && v > 0 ? v / by : 0;
  }
  return v;
}

static int64_t formula_sum(struct formula *f) {
  int64_t v = formula_product(f);
  while (!f->status) {
    int sign = accept(&f->text, "+") ? 1 : accept(&f->text, "-") ? -1 : 0;
    if (sign == 0)
      break;
    int64_t by = formula_product(f), sum;
    v = __builtin_add_overflow(v, sign * by, &sum) ? 0 : sum;
  }
  return v;
}

static int64_t formula_value(const struct shape_ranges *r, const struct shape_symbol *s, const struct binding *values) {
  struct shape_ranges names = *r;
  struct formula f = {.text = {.at = s->formula, .ranges = &names}, .values = values, .first = -1};
  return formula_factor(&f);
}

static enum assay_status read_formula(struct shapes_text *s, struct shape_symbol *out) {
  struct formula f = {.text = *s, .first = -1};
  const char *begin = s->at;
  formula_factor(&f);
  s->at = f.text.at;
  if (!f.status && f.first < 0)
    f.status = bad(s, "the formula before this names no symbol");
  if (f.status)
    return f.status;
  out->freedom = SHAPE_FOLLOWS;
  out->formula = begin;
  out->formula_len = (int)(s->at - begin);
  out->other = f.first;
  out->up = out->down = 1;
  return ASSAY_OK;
}

static bool formula_names(const struct shape_ranges *r, const struct shape_symbol *s, int symbol) {
  struct shape_ranges names = *r;
  struct shapes_text text = {.at = s->formula, .ranges = &names};
  while (text.at < s->formula + s->formula_len) {
    if (isalpha((unsigned char)*text.at)) {
      if (symbol_here(&text) == symbol)
        return true;
    } else {
      text.at++;
    }
  }
  return false;
}

// ---- items

// What follows "M=", or "M~".
static enum assay_status read_rule(struct shapes_text *s, struct shape_symbol *out, bool loose) {
  skip_space(s);
  if (*s->at == '(')
    return read_formula(s, out);
  if (!isdigit((unsigned char)*s->at))
    return read_follower(s, out, 1);
  int64_t number;
  enum assay_status status = whole(s, &number);
  if (status)
    return status;
  if (!loose && accept(s, ".."))
    return read_range(s, out, number);
  return accept(s, "*")
             ? read_follower(s, out, number)
             : bad(s, loose ? "an extent that follows another is expected here" : "'..' or '*' is expected here");
}

static enum assay_status read_item(struct shapes_text *s) {
  int i = symbol_here(s);
  if (i < 0)
    return bad(s, "a symbol of the workloads is expected here");
  struct shape_symbol *out = &s->ranges->symbols[i];
  if (out->freedom != SHAPE_HELD)
    return bad(s, "the symbol before this stands twice");
  const bool loose = accept(s, "~");
  if (!loose && !accept(s, "="))
    return bad(s, "'=' is expected here");
  enum assay_status status = read_rule(s, out, loose);
  out->loose = loose;
  return status;
}

static enum assay_status check_formula(const struct shape_ranges *r, const struct shape_symbol *s,
                                       struct assay_error *err) {
  for (int k = 0; k < r->n; k++)
    if (r->symbols[k].freedom == SHAPE_FOLLOWS && formula_names(r, s, k))
      return error_set(err, ASSAY_ERR_INVALID, "assay.shapes: the formula of %s names %s, which follows another",
                       s->symbol, r->symbols[k].symbol);
  return ASSAY_OK;
}

// A follower follows free symbols, so that one look gives its value; and a limit is free and has none itself.
static enum assay_status check_others(const struct shape_ranges *r, struct assay_error *err) {
  for (int i = 0; i < r->n; i++) {
    const struct shape_symbol *s = &r->symbols[i];
    if (s->freedom == SHAPE_HELD || (s->freedom == SHAPE_FREE && !s->limit))
      continue;
    if (s->formula) {
      enum assay_status status = check_formula(r, s, err);
      if (status)
        return status;
      continue;
    }
    int other = s->limit ? s->limit - 1 : s->other;
    if (!s->limit && r->symbols[other].freedom == SHAPE_FREE && s->with)
      other = s->with - 1;
    const struct shape_symbol *o = &r->symbols[other];
    if (o->freedom != SHAPE_FREE)
      return error_set(err, ASSAY_ERR_INVALID, "assay.shapes: %s follows %s, which has no range", s->symbol, o->symbol);
    if (s->limit && (o->limit || o->low - s->less < s->low))
      return error_set(err, ASSAY_ERR_INVALID, "assay.shapes: %s cannot be the limit of %s, whose least value is %lld",
                       o->symbol, s->symbol, (long long)s->low);
  }
  return ASSAY_OK;
}

static int64_t limited(const struct shape_symbol *s, int64_t v, int64_t most) {
  static const int64_t factors[] = {64, 16, 4};
  if (v <= most)
    return v;
  for (size_t k = 0; k < sizeof factors / sizeof *factors; k++)
    if (v % factors[k] == 0 && factors[k] % s->step == 0 && most / factors[k] * factors[k] >= s->low)
      return most / factors[k] * factors[k];
  int64_t less = most / s->step * s->step;
  return less - (v % 2 && less % 2 == 0 && less - s->step >= s->low ? s->step : 0);
}

void shape_settle(const struct shape_ranges *r, struct binding *values) {
  for (int i = 0; i < r->n; i++) {
    const struct shape_symbol *s = &r->symbols[i];
    if (s->limit)
      values[i].value = limited(s, values[i].value, values[s->limit - 1].value - s->less);
  }
  for (int i = 0; i < r->n; i++) {
    const struct shape_symbol *s = &r->symbols[i];
    if (s->formula)
      values[i].value = formula_value(r, s, values);
    else if (s->freedom == SHAPE_FOLLOWS)
      values[i].value = s->up * values[s->other].value / s->down + s->plus + (s->with ? values[s->with - 1].value : 0);
  }
}

static enum assay_status read_declared(const char *text, struct shape_ranges *r, struct assay_error *err) {
  struct shapes_text s = {.at = text, .ranges = r, .err = err};
  enum assay_status status = ASSAY_OK;
  do
    status = read_item(&s);
  while (!status && accept(&s, ","));
  skip_space(&s);
  if (!status && *s.at)
    status = bad(&s, "',' is expected here");
  r->declared = true;
  return status ? status : check_others(r, err);
}

// ---- finding out

struct trial {
  const struct task *t;
  struct shape_ranges *r;
  struct workload w; // the base, with room for changed values
  struct binding *bindings;
};

static int64_t value_in(const struct workload *w, const struct shape_symbol *s) {
  return workload_value(w, s->symbol);
}

static bool base_of(struct trial *x, const struct workload *base) {
  for (int i = 0; i < x->r->n; i++) {
    x->bindings[i] = (struct binding){x->r->symbols[i].symbol, value_in(base, &x->r->symbols[i])};
    if (x->bindings[i].value < 1)
      return false;
  }
  x->w = (struct workload){.name = base->name, .n = x->r->n, .bindings = x->bindings};
  return true;
}

// Whether the task can have the values that are set, with those that follow them.
static bool takes_values(struct trial *x) {
  for (int k = 0; k < x->r->n; k++) {
    const struct shape_symbol *s = &x->r->symbols[k];
    if (s->freedom == SHAPE_FOLLOWS && s->up * x->bindings[s->other].value % s->down != 0)
      return false;
  }
  shape_settle(x->r, x->bindings);
  return isfinite(shape_work(x->t, &x->w));
}

static bool takes(struct trial *x, const struct workload *base, int i, int64_t value) {
  if (!base_of(x, base))
    return false;
  x->bindings[i].value = value;
  return takes_values(x);
}

// Values that tell: the ends, the neighbours, odd and even, some with many factors.
static bool takes_many(struct trial *x, const struct workload *base, int i) {
  const struct shape_symbol *s = &x->r->symbols[i];
  int64_t now = value_in(base, s);
  const int64_t values[] = {
      s->low, now + s->step,       now - s->step, now + 2 * s->step, now + 3 * s->step, 2 * now + 1, 3 * now, 16,
      64,     s->low + 5 * s->step};
  for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
    int64_t v = values[k] / s->step * s->step;
    if (v >= s->low && v <= s->high && v != now && !takes(x, base, i, v))
      return false;
  }
  return true;
}

// Small, and the last of the ragged ones.
static bool is_free(struct trial *x, int i) {
  const struct task *t = x->t;
  const struct workload *last = NULL;
  for (int k = 0; k < t->n_workloads; k++)
    if (strncmp(t->workloads[k].name, "ragged", 6) == 0)
      last = &t->workloads[k];
  return x->r->symbols[i].low < x->r->symbols[i].high && takes_many(x, task_workload(t, "small"), i) &&
         (!last || takes_many(x, last, i));
}

static void set_range(const struct task *t, struct shape_symbol *s) {
  s->step = 0;
  for (int k = 0; k < t->n_workloads; k++) {
    int64_t v = value_in(&t->workloads[k], s);
    s->low = k && s->low < v ? s->low : v;
    s->high = k && s->high > v ? s->high : v;
    s->step = gcd(v, s->step);
  }
}

// Whether a = up * b / down + plus holds in all workloads of the file, of which at least three differ in b.
static bool follows(const struct task *t, const struct shape_symbol *a, const struct shape_symbol *b,
                    struct shape_symbol *out) {
  const struct workload *w = t->workloads;
  int other = 0, differ = 1;
  for (int k = 1; k < t->n_workloads; k++) {
    bool seen = false;
    for (int j = 0; j < k; j++)
      seen = seen || value_in(&w[j], b) == value_in(&w[k], b);
    differ += !seen;
    other = value_in(&w[k], b) != value_in(&w[0], b) ? k : other;
  }
  if (differ < 3)
    return false;
  int64_t up = value_in(&w[other], a) - value_in(&w[0], a), down = value_in(&w[other], b) - value_in(&w[0], b);
  int64_t factor = gcd(up, down);
  if (up == 0)
    return false;
  up /= factor;
  down /= factor;
  if (down < 0) {
    up = -up;
    down = -down;
  }
  if (up < 0 || up * value_in(&w[0], b) % down != 0)
    return false;
  int64_t plus = value_in(&w[0], a) - up * value_in(&w[0], b) / down;
  for (int k = 0; k < t->n_workloads; k++)
    if (up * value_in(&w[k], b) % down != 0 || up * value_in(&w[k], b) / down + plus != value_in(&w[k], a))
      return false;
  *out = (struct shape_symbol){.symbol = a->symbol,
                               .freedom = SHAPE_FOLLOWS,
                               .low = a->low,
                               .high = a->high,
                               .up = up,
                               .down = down,
                               .plus = plus};
  return true;
}

// Whether symbol a is the sum of two others in all workloads of the file, of which at least three differ in either.
static bool is_sum(const struct task *t, const struct shape_symbol *a, const struct shape_symbol *b,
                   const struct shape_symbol *c) {
  int differ[2] = {1, 1};
  for (int k = 0; k < t->n_workloads; k++) {
    const struct workload *w = &t->workloads[k];
    bool seen[2] = {k == 0, k == 0};
    for (int j = 0; j < k; j++) {
      seen[0] = seen[0] || value_in(&t->workloads[j], b) == value_in(w, b);
      seen[1] = seen[1] || value_in(&t->workloads[j], c) == value_in(w, c);
    }
    differ[0] += !seen[0];
    differ[1] += !seen[1];
    if (value_in(w, a) != value_in(w, b) + value_in(w, c))
      return false;
  }
  return differ[0] >= 3 && differ[1] >= 3;
}

// Tries symbols i and j, either of which cannot change alone, with one that is held so far and their sum.
static void try_sum(struct trial *x, int i, int j) {
  struct shape_symbol *s = x->r->symbols;
  for (int k = 0; k < x->r->n; k++) {
    if (k == i || k == j || s[k].freedom != SHAPE_HELD || !is_sum(x->t, &s[k], &s[i], &s[j]))
      continue;
    struct shape_symbol kept[3] = {s[i], s[j], s[k]};
    s[k].freedom = SHAPE_FOLLOWS;
    s[k].other = i;
    s[k].with = j + 1;
    s[k].up = s[k].down = 1;
    s[i].step = s[j].step = 1;
    if (is_free(x, i) && is_free(x, j)) {
      s[i].freedom = s[j].freedom = SHAPE_FREE;
      return;
    }
    s[i] = kept[0];
    s[j] = kept[1];
    s[k] = kept[2];
  }
}

// The least that symbol b is above symbol a in the workloads of the file; less than 0 where it is not, or where either
// has fewer than three values.
static int64_t always_above(const struct task *t, const struct shape_symbol *a, const struct shape_symbol *b) {
  int64_t least = INT64_MAX;
  int differ[2] = {1, 1};
  for (int k = 0; k < t->n_workloads; k++) {
    int64_t va = value_in(&t->workloads[k], a), vb = value_in(&t->workloads[k], b);
    bool seen[2] = {k == 0, k == 0};
    for (int j = 0; j < k; j++) {
      seen[0] = seen[0] || value_in(&t->workloads[j], a) == va;
      seen[1] = seen[1] || value_in(&t->workloads[j], b) == vb;
    }
    differ[0] += !seen[0];
    differ[1] += !seen[1];
    least = vb - va < least ? vb - va : least;
  }
  return differ[0] >= 3 && differ[1] >= 3 ? least : -1;
}

// Whether symbol i takes what is above its limit where the limit is as much larger.
static bool takes_both(struct trial *x, const struct workload *base, int i) {
  const struct shape_symbol *s = &x->r->symbols[i], *limit = &x->r->symbols[s->limit - 1];
  const int64_t now = value_in(base, limit), values[] = {s->low, now + 1, now + 2, 2 * now + 1, 3 * now, 64, s->high};
  for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
    if (values[k] < s->low || values[k] > s->high || values[k] + s->less > limit->high)
      continue;
    if (!base_of(x, base))
      return false;
    x->bindings[i].value = values[k];
    x->bindings[s->limit - 1].value = values[k] + s->less;
    if (!takes_values(x))
      return false;
  }
  return true;
}

// Tries symbols i and j, neither of which can change alone, with i at most as large as j.
static void try_limit(struct trial *x, int i, int j) {
  struct shape_symbol *s = x->r->symbols, kept[2] = {s[i], s[j]};
  int64_t less = always_above(x->t, &s[i], &s[j]);
  if (less < 0)
    return;
  s[i].limit = j + 1;
  s[i].less = less;
  s[i].step = s[j].step = 1;
  if (is_free(x, i) && is_free(x, j) && takes_both(x, task_workload(x->t, "small"), i)) {
    s[i].freedom = s[j].freedom = SHAPE_FREE;
    return;
  }
  s[i] = kept[0];
  s[j] = kept[1];
}

// Tries symbol i with all others that are held so far and follow it, then in the steps that the file has.
static void try_leader(struct trial *x, int i, const bool *held, struct shape_symbol *kept) {
  struct shape_ranges *r = x->r;
  memcpy(kept, r->symbols, (size_t)r->n * sizeof *kept);
  int64_t step = 1, common = 0;
  int n = 0;
  for (int k = 0; k < x->t->n_workloads; k++)
    common = gcd(value_in(&x->t->workloads[k], &r->symbols[i]), common);
  for (int k = 0; k < r->n; k++) {
    struct shape_symbol s;
    if (k == i || !held[k] || r->symbols[k].freedom != SHAPE_HELD || !follows(x->t, &kept[k], &kept[i], &s))
      continue;
    s.other = i;
    r->symbols[k] = s;
    step = step / gcd(step, s.down) * s.down;
    n++;
  }
  r->symbols[i].step = step;
  bool free = n > 0 && is_free(x, i);
  if (!free && n > 0 && common > step && common % step == 0) {
    r->symbols[i].step = common;
    free = is_free(x, i);
  }
  if (free)
    r->symbols[i].freedom = SHAPE_FREE;
  else
    memcpy(r->symbols, kept, (size_t)r->n * sizeof *kept);
}

static enum assay_status symbols_of(const struct task *t, struct arena *arena, struct shape_ranges *out,
                                    struct assay_error *err) {
  const struct workload *small = task_workload(t, "small");
  *out = (struct shape_ranges){.n = small->n};
  out->symbols = arena_calloc(arena, (size_t)out->n + 1, sizeof *out->symbols);
  if (!out->symbols)
    return error_nomem(err, "a task's shapes");
  for (int i = 0; i < out->n; i++) {
    out->symbols[i].symbol = small->bindings[i].symbol;
    set_range(t, &out->symbols[i]);
  }
  return ASSAY_OK;
}

enum assay_status shape_ranges_derive(const struct task *t, struct arena *arena, struct shape_ranges *out,
                                      struct assay_error *err) {
  struct shape_ranges r;
  enum assay_status status = symbols_of(t, arena, &r, err);
  if (status)
    return status;
  size_t n = (size_t)r.n + 1;
  struct trial x = {.t = t, .r = &r, .bindings = arena_calloc(arena, n, sizeof *x.bindings)};
  struct shape_symbol *kept = arena_calloc(arena, n, sizeof *kept);
  bool *held = arena_calloc(arena, n, sizeof *held);
  if (!x.bindings || !kept || !held)
    return error_nomem(err, "a task's shapes");
  for (int i = 0; i < r.n; i++) {
    struct shape_symbol *s = &r.symbols[i];
    int64_t common = s->step;
    s->step = 1;
    bool free = is_free(&x, i);
    if (!free && common > 1) {
      s->step = common;
      free = is_free(&x, i);
    }
    held[i] = !free;
    s->freedom = free ? SHAPE_FREE : SHAPE_HELD;
  }
  for (int i = 0; i < r.n; i++)
    if (r.symbols[i].freedom == SHAPE_HELD)
      try_leader(&x, i, held, kept);
  for (int i = 0; i < r.n; i++)
    for (int j = i + 1; j < r.n; j++)
      if (r.symbols[i].freedom == SHAPE_HELD && r.symbols[j].freedom == SHAPE_HELD)
        try_sum(&x, i, j);
  for (int i = 0; i < r.n; i++)
    for (int j = 0; j < r.n; j++)
      if (i != j && r.symbols[i].freedom == SHAPE_HELD && r.symbols[j].freedom == SHAPE_HELD)
        try_limit(&x, i, j);
  *out = r;
  return ASSAY_OK;
}

// An item of the key.
static void put_symbol(struct buf *b, const struct shape_ranges *r, const struct shape_symbol *s) {
  if (s->freedom == SHAPE_HELD)
    return;
  buf_printf(b, "%s%s%s", b->len ? ", " : "", s->symbol, s->loose ? "~" : "=");
  if (s->freedom == SHAPE_FREE) {
    buf_printf(b, "%lld..%lld", (long long)s->low, (long long)s->high);
    if (s->step > 1)
      buf_printf(b, "/%lld", (long long)s->step);
    if (s->limit)
      buf_printf(b, "<=%s", r->symbols[s->limit - 1].symbol);
    if (s->limit && s->less)
      buf_printf(b, "-%lld", (long long)s->less);
    return;
  }
  if (s->formula) {
    buf_printf(b, "%.*s", s->formula_len, s->formula);
    return;
  }
  if (s->up > 1)
    buf_printf(b, "%lld*", (long long)s->up);
  buf_puts(b, r->symbols[s->other].symbol);
  if (s->down > 1)
    buf_printf(b, "/%lld", (long long)s->down);
  if (s->with)
    buf_printf(b, "+%s", r->symbols[s->with - 1].symbol);
  if (s->plus)
    buf_printf(b, "%c%lld", s->plus < 0 ? '-' : '+', (long long)llabs(s->plus));
}

// The least extent of each range must be one that the task can have, next to the others of `small`.
static enum assay_status check_least(const struct task *t, struct arena *arena, struct shape_ranges *r,
                                     struct assay_error *err) {
  struct trial x = {.t = t, .r = r, .bindings = arena_calloc(arena, (size_t)r->n + 1, sizeof *x.bindings)};
  struct task_cost ignored;
  enum assay_status status = x.bindings ? ASSAY_OK : error_nomem(err, "a task's shapes");
  for (int i = 0; i < r->n && !status; i++) {
    const struct shape_symbol *s = &r->symbols[i];
    int64_t least = (s->low + s->step - 1) / s->step * s->step;
    if (s->freedom != SHAPE_FREE || takes(&x, task_workload(t, "small"), i, least))
      continue;
    status = metadata_check_symbols(t, &x.w, err);
    if (!status)
      status = task_cost(t, &x.w, &ignored, err);
    status = error_prefix(err, status ? status : error_set(err, ASSAY_ERR_INVALID, "the task cannot have that"),
                          "assay.shapes: the workload small with %s=%lld: ", s->symbol, (long long)least);
  }
  return status;
}

// What follows others must follow them in the file's own workloads, too: drawn shapes would be none of the task's. (A
// range and a limit may leave out what workloads have: they say what is drawn.)
static enum assay_status check_workloads(const struct task *t, struct arena *arena, const struct shape_ranges *r,
                                         struct assay_error *err) {
  struct binding *settled = arena_calloc(arena, (size_t)r->n + 1, sizeof *settled);
  if (!settled)
    return error_nomem(err, "a task's shapes");
  for (int k = 0; k < t->n_workloads; k++) {
    for (int i = 0; i < r->n; i++)
      settled[i] = (struct binding){r->symbols[i].symbol, value_in(&t->workloads[k], &r->symbols[i])};
    shape_settle(r, settled);
    for (int i = 0; i < r->n; i++) {
      const struct shape_symbol *s = &r->symbols[i];
      const long long value = value_in(&t->workloads[k], s), want = settled[i].value;
      if (s->freedom != SHAPE_FOLLOWS || s->loose || value == want)
        continue;
      struct buf rule = {0};
      put_symbol(&rule, r, s);
      enum assay_status status = error_set(err, ASSAY_ERR_INVALID,
                                           "assay.shapes says '%s', which is %lld in the workload %s, where %s is "
                                           "%lld: correct one of the two, or write "
                                           "%s~ where drawn shapes alone are to have that",
                                           buf_str(&rule), want, t->workloads[k].name, s->symbol, value, s->symbol);
      buf_release(&rule);
      return status;
    }
  }
  return ASSAY_OK;
}

enum assay_status shape_ranges_check(const struct task *t, struct assay_error *err) {
  struct arena arena = {0};
  struct shape_ranges r;
  const char *text = model_property(&t->model, "assay.shapes");
  enum assay_status status = symbols_of(t, &arena, &r, err);
  if (!status && text)
    status = read_declared(text, &r, err);
  if (!status && text)
    status = check_workloads(t, &arena, &r, err);
  if (!status && text)
    status = check_least(t, &arena, &r, err);
  arena_release(&arena);
  return status;
}

enum assay_status shape_ranges_find(const struct task *t, struct arena *arena, struct shape_ranges *out,
                                    struct assay_error *err) {
  const char *text = model_property(&t->model, "assay.shapes");
  if (!text)
    return shape_ranges_derive(t, arena, out, err);
  enum assay_status status = symbols_of(t, arena, out, err);
  return status ? status : read_declared(text, out, err);
}

// ---- writing

char *shape_ranges_text(const struct shape_ranges *r, struct arena *arena) {
  struct buf b = {0};
  for (int i = 0; i < r->n; i++)
    put_symbol(&b, r, &r->symbols[i]);
  char *text = b.failed ? NULL : arena_strdup(arena, buf_str(&b));
  buf_release(&b);
  return text;
}

char *workload_text(const struct workload *w, struct arena *arena) {
  struct buf b = {0};
  for (int i = 0; i < w->n; i++)
    buf_printf(&b, "%s%s=%lld", i ? ", " : "", w->bindings[i].symbol, (long long)w->bindings[i].value);
  char *text = b.failed ? NULL : arena_strdup(arena, buf_str(&b));
  buf_release(&b);
  return text;
}
