// SPDX-License-Identifier: Apache-2.0
// Reading the values of metadata keys.
#include "task/metadata.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_space(const char *s) {
  while (*s == ' ' || *s == '\t' || *s == '\n')
    s++;
  return s;
}

static size_t identifier(const char *s) {
  size_t n = 0;
  if (isalpha((unsigned char)s[0]) || s[0] == '_')
    while (isalnum((unsigned char)s[n]) || s[n] == '_')
      n++;
  return n;
}

int64_t workload_value(const struct workload *w, const char *symbol) {
  for (int i = 0; i < w->n; i++)
    if (strcmp(w->bindings[i].symbol, symbol) == 0)
      return w->bindings[i].value;
  return -1;
}

// One "M=3" at *text, which moves past it.
static enum assay_status binding(const char **text, struct arena *arena, struct binding *out, struct assay_error *err) {
  const char *s = *text;
  size_t len = identifier(s);
  if (len == 0)
    return error_set(err, ASSAY_ERR_SYNTAX, "a dimension's name is expected at '%.40s' (write \"M=3, N=4\")", s);
  const char *equals = skip_space(s + len);
  if (*equals != '=')
    return error_set(err, ASSAY_ERR_SYNTAX, "'=' is expected at '%.40s' (write \"M=3, N=4\")", equals);
  const char *digits = skip_space(equals + 1);
  size_t n = strspn(digits, "0123456789");
  long long value = n > 0 && n < 16 ? strtoll(digits, NULL, 10) : 0;
  if (value < 1 || value > SHAPE_MAX_ELEMENTS)
    return error_set(err, ASSAY_ERR_INVALID, "%.*s must be a whole number from 1 to %lld, not '%.40s'", (int)len, s,
                     (long long)SHAPE_MAX_ELEMENTS, digits);
  out->symbol = arena_strndup(arena, s, len);
  out->value = value;
  *text = digits + n;
  return out->symbol ? ASSAY_OK : error_nomem(err, "a workload");
}

enum assay_status metadata_bindings(const char *text, struct arena *arena, struct workload *out,
                                    struct assay_error *err) {
  struct workload w = {0};
  size_t capacity = 0;
  const char *s = skip_space(text);
  while (*s != '\0') {
    if ((size_t)w.n == capacity) {
      void *grown = arena_grow(arena, w.bindings, (size_t)w.n, &capacity, sizeof *w.bindings);
      if (!grown)
        return error_nomem(err, "a workload");
      w.bindings = grown;
    }
    struct binding *b = &w.bindings[w.n];
    enum assay_status status = binding(&s, arena, b, err);
    if (status)
      return status;
    if (workload_value(&w, b->symbol) >= 0)
      return error_set(err, ASSAY_ERR_INVALID, "%s is bound twice", b->symbol);
    w.n++;
    s = skip_space(s);
    if (*s == ',')
      s = skip_space(s + 1);
    else if (*s != '\0')
      return error_set(err, ASSAY_ERR_SYNTAX, "',' is expected at '%.40s'", s);
  }
  out->n = w.n;
  out->bindings = w.bindings;
  return ASSAY_OK;
}

static bool symbol_of_inputs(const struct task *t, const char *symbol) {
  const struct graph *g = &t->model.flat;
  for (int i = 0; i < g->n_inputs; i++) {
    const struct value *v = &g->values[g->inputs[i]];
    for (int k = 0; k < v->rank; k++)
      if (v->dims[k].symbol && strcmp(v->dims[k].symbol, symbol) == 0)
        return true;
  }
  return false;
}

enum assay_status metadata_check_workload(const struct task *t, const struct workload *w, struct assay_error *err) {
  const struct graph *g = &t->model.flat;
  for (int i = 0; i < w->n; i++)
    if (!symbol_of_inputs(t, w->bindings[i].symbol))
      return error_set(err, ASSAY_ERR_INVALID, "no input has a dimension %s", w->bindings[i].symbol);
  for (int i = 0; i < g->n_inputs; i++) {
    const struct value *v = &g->values[g->inputs[i]];
    struct shape shape = {.rank = v->rank};
    for (int k = 0; k < v->rank; k++) {
      const struct dim *d = &v->dims[k];
      shape.dims[k] = d->symbol ? workload_value(w, d->symbol) : d->value;
      if (shape.dims[k] < 0)
        return error_set(err, ASSAY_ERR_INVALID, "dimension %s of input %s has no value (write \"%s=...\")",
                         d->symbol ? d->symbol : "?", v->name, d->symbol ? d->symbol : "?");
    }
    enum assay_status status = shape_check(&shape, err);
    if (status)
      return error_prefix(err, status, "input %s: ", v->name);
  }
  return ASSAY_OK;
}

enum assay_status metadata_check_symbols(const struct task *t, const struct workload *w, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < t->n_inputs && !status; i++) {
    const struct distribution *d = &t->inputs[i].distribution;
    double a, b;
    const char *missing = task_distribution_numbers(d, w, &a, &b);
    if (missing)
      status = error_set(err, ASSAY_ERR_INVALID, "'%.200s' needs a value for %s", d->text, missing);
    else
      status = distribution_check_values(d, a, b, err);
    if (status)
      error_prefix(err, status, "input %s: ", t->inputs[i].name);
  }
  return status;
}

// The argument in "near_overflow(1e17)", at the parenthesis.
static enum assay_status magnitude(const char **text, double *out, struct assay_error *err) {
  const char *s = skip_space(*text);
  char *end = NULL;
  double m = *s == '(' ? strtod(s + 1, &end) : 0;
  if (!(m > 0 && isfinite(m)) || *skip_space(end) != ')')
    return error_set(err, ASSAY_ERR_SYNTAX,
                     "near_overflow needs the magnitude that a straightforward implementation survives: "
                     "near_overflow(1e17)");
  *out = m;
  *text = skip_space(end) + 1;
  return ASSAY_OK;
}

enum assay_status metadata_probes(const char *text, struct task *t, struct assay_error *err) {
  const char *s = skip_space(text);
  while (*s != '\0') {
    bool off = *s == '-';
    s += off;
    size_t len = identifier(s);
    enum probe probe;
    if (!probe_by_name(s, len, &probe) || probe == PROBE_DECLARED)
      return error_set(
          err, ASSAY_ERR_INVALID,
          "'%.40s' begins with no probe: zero_mean, row_scales, heavy_mean, integers, near_overflow(m), "
          "subnormal, special, small_spread, tiny, stripes, opposed, each with '-' in front to leave it out",
          s);
    s += len;
    if (probe == PROBE_NEAR_OVERFLOW && !off) {
      enum assay_status status = magnitude(&s, &t->near_overflow, err);
      if (status)
        return status;
    }
    unsigned bit = 1u << probe;
    t->probes = off ? t->probes & ~bit : t->probes | bit;
    s = skip_space(s);
    if (*s == ',')
      s = skip_space(s + 1);
    else if (*s != '\0')
      return error_set(err, ASSAY_ERR_SYNTAX, "',' is expected at '%.40s'", s);
  }
  return ASSAY_OK;
}

enum assay_status metadata_tolerances(const char *text, double *rtol, double *atol, struct assay_error *err) {
  char *end, *last;
  double r = strtod(text, &end), a = 0;
  const char *comma = skip_space(end);
  bool good = end != text && *comma == ',';
  if (good) {
    a = strtod(comma + 1, &last);
    good = last != comma + 1 && *skip_space(last) == '\0' && r >= 0 && a >= 0 && isfinite(r) && isfinite(a);
  }
  if (!good)
    return error_set(err, ASSAY_ERR_SYNTAX, "'%.80s' is not \"rtol, atol\" (two numbers, for example \"1e-4, 1e-4\")",
                     text);
  *rtol = r;
  *atol = a;
  return ASSAY_OK;
}

enum assay_status metadata_constant(const char *text, const struct tensor *constant, struct arena *arena,
                                    struct tensor *out, struct assay_error *err) {
  int64_t n = shape_count(&constant->type.shape);
  bool floating = dtype_is_float(constant->type.dtype);
  char *data = arena_calloc(arena, (size_t)n + 1, dtype_bytes(constant->type.dtype));
  if (!data)
    return error_nomem(err, "a constant");
  const char *s = text;
  for (int64_t i = 0; i < n; i++) {
    char *end;
    double number = strtod(s, &end);
    int64_t whole = (int64_t)(fabs(number) < 0x1p53 ? number : 0);
    bool good = end != s && isfinite(number) && (floating || (double)whole == number);
    s = skip_space(end);
    if (!good || *s != (i + 1 < n ? ',' : '\0'))
      return error_set(err, ASSAY_ERR_SYNTAX, "'%.80s' is not the constant's %lld %s with commas between", text,
                       (long long)n, floating ? "numbers" : "whole numbers");
    s += i + 1 < n;
    char *element = data + (size_t)i * dtype_bytes(constant->type.dtype);
    if (floating)
      dtype_from_f64(constant->type.dtype, &number, 1, element);
    else
      dtype_from_i64(constant->type.dtype, &whole, 1, element);
  }
  *out = *constant;
  out->data = data;
  return ASSAY_OK;
}

static int workload_rank(const char *name) {
  if (strcmp(name, "small") == 0)
    return 0;
  if (strcmp(name, "full") == 0)
    return 1;
  return strncmp(name, "ragged", 6) == 0 ? 2 : 3;
}

static int compare_workloads(const void *left, const void *right) {
  const struct workload *a = left, *b = right;
  int ra = workload_rank(a->name), rb = workload_rank(b->name);
  return ra != rb ? ra - rb : strverscmp(a->name, b->name);
}

void metadata_sort_workloads(struct workload *workloads, int n) {
  if (n > 1)
    qsort(workloads, (size_t)n, sizeof *workloads, compare_workloads);
}
