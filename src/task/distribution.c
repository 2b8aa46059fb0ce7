// SPDX-License-Identifier: Apache-2.0
// The text form of distributions (grammar: distribution.h).
#include "task/distribution.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const probe_names[PROBE_COUNT] = {
#define PROBE_NAME(name, text, doc) [PROBE_##name] = text,
    PROBES(PROBE_NAME)
#undef PROBE_NAME
};

const char *probe_name(enum probe p) {
  return (unsigned)p < PROBE_COUNT ? probe_names[p] : "unknown";
}

bool probe_by_name(const char *name, size_t len, enum probe *out) {
  for (int i = 0; i < PROBE_COUNT; i++)
    if (strlen(probe_names[i]) == len && memcmp(probe_names[i], name, len) == 0) {
      *out = (enum probe)i;
      return true;
    }
  return false;
}

// The names that are allowed before the parentheses. `labels(n)` is integers(0, n): its one argument is the upper
// bound.
static const struct base {
  const char *name;
  enum distribution_kind kind;
  int n_arguments;
} bases[] = {
    {"uniform", DIST_UNIFORM, 2},     {"normal", DIST_NORMAL, 2},       {"slash", DIST_SLASH, 1},
    {"constant", DIST_CONSTANT, 1},   {"integers", DIST_INTEGERS, 2},   {"labels", DIST_INTEGERS, 1},
    {"bernoulli", DIST_BERNOULLI, 1}, {"signs", DIST_SIGNS, 0},         {"permutation", DIST_PERMUTATION, 1},
    {"seeds", DIST_SEEDS, 0},         {"partition", DIST_PARTITION, 1},
};

struct scanner {
  const char *text, *at;
  struct arena *arena;
  struct assay_error *err;
};

static enum assay_status bad(const struct scanner *s, const char *what) {
  return error_set(s->err, ASSAY_ERR_SYNTAX, "'%.200s', character %zu: %s", s->text, (size_t)(s->at - s->text) + 1,
                   what);
}

static void skip_space(struct scanner *s) {
  while (*s->at == ' ' || *s->at == '\t' || *s->at == '\n')
    s->at++;
}

static bool accept(struct scanner *s, char c) {
  skip_space(s);
  if (*s->at != c)
    return false;
  s->at++;
  return true;
}

static size_t word(struct scanner *s, const char **start) {
  skip_space(s);
  *start = s->at;
  if (isalpha((unsigned char)*s->at) || *s->at == '_')
    while (isalnum((unsigned char)*s->at) || *s->at == '_')
      s->at++;
  return (size_t)(s->at - *start);
}

static bool is(const char *start, size_t len, const char *name) {
  return strlen(name) == len && memcmp(start, name, len) == 0;
}

static enum assay_status number(struct scanner *s, double *out) {
  skip_space(s);
  // strtod alone would also take "inf", "nan" and hexadecimal digits.
  if (!isdigit((unsigned char)*s->at) && *s->at != '-' && *s->at != '+' && *s->at != '.')
    return bad(s, "a number is expected here");
  char *end;
  *out = strtod(s->at, &end);
  if (end == s->at || !isfinite(*out))
    return bad(s, "a finite number is expected here");
  s->at = end;
  return ASSAY_OK;
}

static enum assay_status symbol_of(struct scanner *s, const char *start, size_t len, const char **symbol) {
  *symbol = arena_strndup(s->arena, start, len);
  return *symbol ? ASSAY_OK : error_nomem(s->err, "an input's distribution");
}

// "sqrt(E)", after a number and '/'.
static enum assay_status root(struct scanner *s, const char **symbol) {
  const char *start;
  size_t len = word(s, &start);
  if (!is(start, len, "sqrt") || !accept(s, '(') || (len = word(s, &start)) == 0)
    return bad(s, "sqrt(SYMBOL) is expected after '/'");
  enum assay_status status = symbol_of(s, start, len, symbol);
  return status || accept(s, ')') ? status : bad(s, "')' is expected here");
}

// A number, the name of a symbol of the workload, or a number over the root of one.
static enum assay_status argument(struct scanner *s, double *value, const char **symbol, bool *over_root) {
  const char *start;
  size_t len = word(s, &start);
  if (len > 0)
    return symbol_of(s, start, len, symbol);
  enum assay_status status = number(s, value);
  if (status || !accept(s, '/'))
    return status;
  *over_root = true;
  return root(s, symbol);
}

static enum assay_status parse_base(struct scanner *s, struct distribution *d) {
  const char *start;
  size_t len = word(s, &start);
  const struct base *base = NULL;
  for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
    if (is(start, len, bases[i].name))
      base = &bases[i];
  if (!base) {
    s->at = start;
    return bad(s,
               "a distribution is expected here: uniform, normal, slash, constant, integers, labels, bernoulli, signs, "
               "permutation, seeds");
  }
  d->kind = base->kind;
  if (!accept(s, '('))
    return bad(s, "'(' is expected here");
  bool labels = base->kind == DIST_PERMUTATION || base->kind == DIST_PARTITION || is(start, len, "labels");
  enum assay_status status = ASSAY_OK;
  if (base->n_arguments > 0)
    status = labels ? argument(s, &d->b, &d->b_symbol, &d->b_root) : argument(s, &d->a, &d->a_symbol, &d->a_root);
  if (!status && base->n_arguments > 1)
    status = accept(s, ',') ? argument(s, &d->b, &d->b_symbol, &d->b_root) : bad(s, "',' is expected here");
  if (!status && !accept(s, ')'))
    status = bad(s, "')' is expected here");
  return status;
}

static enum assay_status parse_scale(struct scanner *s, struct distribution *d) {
  const char *start;
  size_t len = word(s, &start);
  if (!is(start, len, "uniform_scalar"))
    return bad(s, "only uniform_scalar(lo, hi) may follow '*'");
  d->scaled = true;
  if (!accept(s, '('))
    return bad(s, "'(' is expected here");
  enum assay_status status = number(s, &d->scale_lo);
  if (!status && !accept(s, ','))
    status = bad(s, "',' is expected here");
  if (!status)
    status = number(s, &d->scale_hi);
  if (!status && !accept(s, ')'))
    status = bad(s, "')' is expected here");
  return status;
}

// "(c)" or "(a, b)" after the name of a fold.
static enum assay_status parse_fold(struct scanner *s, enum fold fold, struct distribution *d) {
  if (d->fold)
    return bad(s, "this modifier stands twice");
  d->fold = fold;
  if (!accept(s, '('))
    return bad(s, "'(' is expected here");
  enum assay_status status = number(s, &d->fold_lo);
  if (!status && fold == FOLD_BETWEEN)
    status = accept(s, ',') ? number(s, &d->fold_hi) : bad(s, "',' is expected here");
  return status || accept(s, ')') ? status : bad(s, "')' is expected here");
}

static enum assay_status parse_modifier(struct scanner *s, struct distribution *d) {
  const char *start;
  size_t len = word(s, &start);
  struct {
    const char *name;
    bool *flag;
  } flags[] = {{"static", &d->is_static}, {"symmetric", &d->symmetric}, {"triu", &d->triu},
               {"tril", &d->tril},        {"softmax", &d->softmax},     {"fixed", &d->fixed},
               {"regular", &d->regular},  {"definite", &d->definite}};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    if (is(start, len, flags[i].name)) {
      if (*flags[i].flag)
        return bad(s, "this modifier stands twice");
      *flags[i].flag = true;
      return ASSAY_OK;
    }
  if (is(start, len, "above") || is(start, len, "between"))
    return parse_fold(s, is(start, len, "above") ? FOLD_ABOVE : FOLD_BETWEEN, d);
  s->at = start;
  return bad(s, "a modifier is expected here: static, symmetric, triu, tril, regular, definite, softmax, fixed, above, "
                "between");
}

const char *distribution_kind_name(enum distribution_kind kind) {
  for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
    if (bases[i].kind == kind)
      return bases[i].name;
  return "uniform";
}

enum assay_status distribution_check_values(const struct distribution *d, double a, double b, struct assay_error *err) {
  const char *wrong = NULL;
  if (d->kind == DIST_UNIFORM && a > b)
    wrong = "uniform(a, b) needs a <= b";
  else if (d->kind == DIST_NORMAL && b < 0)
    wrong = "normal(mean, std) needs std >= 0";
  else if (d->kind == DIST_BERNOULLI && !(a >= 0 && a <= 1))
    wrong = "bernoulli(p) needs p between 0 and 1";
  else if (d->kind == DIST_INTEGERS &&
           !(a < b && b - a <= 0x1p32 && floor(a) == a && floor(b) == b && fabs(a) <= 0x1p52))
    wrong = "integers(lo, hi) needs whole numbers with lo < hi and at most 2^32 values";
  else if (d->kind == DIST_PERMUTATION && !(b >= 1 && b <= 0x1p32 && floor(b) == b))
    wrong = "permutation(count) needs a whole number from 1 to 2^32";
  else if (d->kind == DIST_PARTITION && !(b >= 0 && b <= 0x1p32 && floor(b) == b))
    wrong = "partition(total) needs a whole number from 0 to 2^32";
  return wrong ? error_set(err, ASSAY_ERR_INVALID, "'%.200s': %s", d->text, wrong) : ASSAY_OK;
}

// What can be said before symbols have values.
static enum assay_status check_parsed(const struct scanner *s, const struct distribution *d) {
  if (d->scaled && d->scale_lo > d->scale_hi)
    return bad(s, "uniform_scalar(lo, hi) needs lo <= hi");
  if (d->symmetric + d->triu + d->tril + d->softmax > 1)
    return bad(s, "symmetric, triu, tril and softmax exclude each other");
  if ((d->regular && (d->softmax || d->definite)) ||
      (d->definite && (d->symmetric || d->triu || d->tril || d->softmax)))
    return bad(s, "definite stands alone; regular goes with symmetric, triu or tril only");
  if (d->fold && (d->fixed || d->softmax || d->symmetric || d->triu || d->tril || d->regular || d->definite))
    return bad(s, "above and between go with static only");
  if (d->fold == FOLD_BETWEEN && d->fold_lo >= d->fold_hi)
    return bad(s, "between(a, b) needs a < b");
  return d->a_symbol || d->b_symbol ? ASSAY_OK : distribution_check_values(d, d->a, d->b, s->err);
}

enum assay_status distribution_parse(const char *text, struct arena *arena, struct distribution *out,
                                     struct assay_error *err) {
  struct scanner s = {.text = text, .at = text, .arena = arena, .err = err};
  struct distribution d = {.text = arena_strdup(arena, text)};
  if (!d.text)
    return error_nomem(err, "an input's distribution");
  enum assay_status status = parse_base(&s, &d);
  if (!status && accept(&s, '*'))
    status = parse_scale(&s, &d);
  skip_space(&s);
  while (!status && *s.at != '\0') {
    status = parse_modifier(&s, &d);
    skip_space(&s);
  }
  if (!status)
    status = check_parsed(&s, &d);
  if (!status)
    *out = d;
  return status;
}

enum assay_status distribution_check(const struct distribution *d, enum dtype dtype, int rank,
                                     struct assay_error *err) {
  if (dtype_bytes(dtype) == 0)
    return error_set(err, ASSAY_ERR_UNSUPPORTED, "inputs of type %s cannot be drawn", dtype_name(dtype));
  bool whole = d->kind == DIST_INTEGERS || d->kind == DIST_BERNOULLI || d->kind == DIST_SIGNS ||
               d->kind == DIST_PERMUTATION || d->kind == DIST_SEEDS || d->kind == DIST_PARTITION ||
               (d->kind == DIST_CONSTANT && floor(d->a) == d->a && fabs(d->a) <= 0x1p53);
  if (!dtype_is_float(dtype) && (!whole || d->scaled || d->softmax || d->symmetric || d->regular || d->definite))
    return error_set(err, ASSAY_ERR_INVALID,
                     "'%.200s' draws fractions, but the input's type is %s: use integers, labels, bernoulli, signs, "
                     "permutation, partition or seeds",
                     d->text, dtype_name(dtype));
  if ((d->symmetric || d->triu || d->tril || d->regular || d->definite) && rank < 2)
    return error_set(err, ASSAY_ERR_INVALID, "'%.200s' needs an input of at least two dimensions", d->text);
  if (d->softmax && rank < 1)
    return error_set(err, ASSAY_ERR_INVALID, "'%.200s' needs an input of at least one dimension", d->text);
  if (d->kind == DIST_SEEDS && dtype_is_integer(dtype) && dtype_bytes(dtype) < 8)
    return error_set(err, ASSAY_ERR_INVALID, "'%.200s' has numbers of 52 bits: it needs an input of int64", d->text);
  if ((d->kind == DIST_PERMUTATION || d->kind == DIST_PARTITION) && rank < 1)
    return error_set(err, ASSAY_ERR_INVALID, "'%.200s' needs an input of at least one dimension", d->text);
  return ASSAY_OK;
}
