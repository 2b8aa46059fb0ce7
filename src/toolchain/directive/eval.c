// SPDX-License-Identifier: Apache-2.0
// Expressions of directive lines: their values for one workload.
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "toolchain/directive/private.h"

enum assay_status eval_error(struct evaluation *e, struct place at, const char *fmt, ...) {
  char message[ASSAY_ERROR_MESSAGE_BYTES];
  va_list args;
  va_start(args, fmt);
  vsnprintf(message, sizeof message, fmt, args);
  va_end(args);
  return directive_error(e->err, ASSAY_ERR_INVALID, e->set->file, at, "%s", message);
}

// ---- names

static const struct tensor_type *find_tensor(const struct plan_subject *s, const char *name) {
  for (int i = 0; i < s->n_inputs; i++)
    if (!strcmp(s->input_names[i], name))
      return &s->inputs[i];
  for (int i = 0; i < s->n_outputs; i++)
    if (!strcmp(s->output_names[i], name))
      return &s->outputs[i];
  return NULL;
}

// "a, b and c", as far as there is room.
static void list_names(char *out, size_t size, const char *const *names, int n) {
  size_t used = strlen(out);
  for (int i = 0; i < n && used + 8 < size; i++) {
    snprintf(out + used, size - used, "%s%s", used ? ", " : "", names[i]);
    used = strlen(out);
  }
}

static enum assay_status unknown_name(struct evaluation *e, const struct expr *x) {
  char known[300] = "", meant[96];
  struct nearest near = {.word = x->name};
  for (int i = 0; i < e->subject->n_symbols && i < 16; i++)
    list_names(known, sizeof known, &e->subject->symbols[i].name, 1);
  for (int i = 0; i < e->n_lets && i < 16; i++)
    list_names(known, sizeof known, &e->lets[i].name, 1);
  for (int i = 0; i < e->subject->n_symbols; i++)
    nearest_offer(&near, e->subject->symbols[i].name);
  for (int i = 0; i < e->n_lets; i++)
    nearest_offer(&near, e->lets[i].name);
  for (int i = 0; i < e->n_buffers; i++)
    nearest_offer(&near, e->buffers[i].name);
  if (eval_find_buffer(e, x->name) >= 0)
    return eval_error(e, x->at, "%s is a buffer, not a number: write %s.count, %s.0 or %s.rank", x->name, x->name,
                      x->name, x->name);
  return eval_error(e, x->at, "no number is named `%s`%s: %s%s; `// assay: let %s = ...` above this line makes one",
                    x->name, nearest_text(&near, meant, sizeof meant),
                    known[0] ? "there are " : "the task has no symbolic dimensions", known, x->name);
}

static enum assay_status look_up(struct evaluation *e, const struct expr *x, struct value *out) {
  for (int i = 0; i < e->n_lets; i++)
    if (!strcmp(e->lets[i].name, x->name))
      return *out = e->lets[i].value, ASSAY_OK;
  for (int i = 0; i < e->subject->n_symbols; i++)
    if (!strcmp(e->subject->symbols[i].name, x->name))
      return *out = (struct value){.integer = e->subject->symbols[i].value}, ASSAY_OK;
  return unknown_name(e, x);
}

static enum assay_status tensor_value(struct evaluation *e, const struct expr *x, int64_t *out) {
  const struct tensor_type *t = find_tensor(e->subject, x->name);
  char known[300] = "";
  if (!t) {
    list_names(known, sizeof known, e->subject->input_names, e->subject->n_inputs);
    list_names(known, sizeof known, e->subject->output_names, e->subject->n_outputs);
    return known[0] ? eval_error(e, x->at, "no tensor is named `%s`: the task's are %s", x->name, known)
                    : eval_error(e, x->at, "tensors have no extents here (`%s`): name the task's dimensions", x->name);
  }
  if (x->op == EXPR_RANK)
    return *out = t->shape.rank, ASSAY_OK;
  if (x->op == EXPR_COUNT)
    return *out = tensor_type_count(t), ASSAY_OK; // the graph's own bounds keep this in range
  int64_t i = x->value < 0 ? x->value + t->shape.rank : x->value;
  if (i < 0 || i >= t->shape.rank)
    return eval_error(e, x->at, "%s.%" PRId64 " is beyond its rank of %d", x->name, x->value, t->shape.rank);
  *out = t->shape.dims[i];
  return ASSAY_OK;
}

// ---- integers

static enum assay_status overflow(struct evaluation *e, const struct expr *x, const char *mark, int64_t a, int64_t b) {
  return eval_error(e, x->at, "%" PRId64 " %s %" PRId64 " does not fit into 64 bits", a, mark, b);
}

static enum assay_status ceil_div(struct evaluation *e, const struct expr *x, int64_t a, int64_t b, int64_t *out) {
  if (b <= 0)
    return eval_error(e, x->at, "%s(%" PRId64 ", %" PRId64 "): the second number must be greater than 0",
                      x->op == EXPR_CEIL_DIV ? "ceil_div" : "round_up", a, b);
  int64_t q = a / b + (a % b > 0);
  if (x->op == EXPR_CEIL_DIV)
    return *out = q, ASSAY_OK;
  return __builtin_mul_overflow(q, b, out) ? overflow(e, x, "rounded up to a multiple of", a, b) : ASSAY_OK;
}

static enum assay_status divide(struct evaluation *e, const struct expr *x, int64_t a, int64_t b, int64_t *out) {
  const char *mark = x->op == EXPR_DIV ? "/" : "%";
  if (b == 0)
    return eval_error(e, x->at, "%" PRId64 " %s 0: division by zero", a, mark);
  if (a == INT64_MIN && b == -1)
    return overflow(e, x, mark, a, b);
  *out = x->op == EXPR_DIV ? a / b : a % b;
  return ASSAY_OK;
}

static enum assay_status of_two(struct evaluation *e, const struct expr *x, int64_t a, int64_t b, int64_t *out) {
  switch (x->op) {
  case EXPR_ADD:
    return __builtin_add_overflow(a, b, out) ? overflow(e, x, "+", a, b) : ASSAY_OK;
  case EXPR_SUB:
    return __builtin_sub_overflow(a, b, out) ? overflow(e, x, "-", a, b) : ASSAY_OK;
  case EXPR_MUL:
    return __builtin_mul_overflow(a, b, out) ? overflow(e, x, "*", a, b) : ASSAY_OK;
  case EXPR_DIV:
  case EXPR_MOD:
    return divide(e, x, a, b, out);
  case EXPR_CEIL_DIV:
  case EXPR_ROUND_UP:
    return ceil_div(e, x, a, b, out);
  case EXPR_LESS:
    return *out = a < b, ASSAY_OK;
  case EXPR_LESS_EQUAL:
    return *out = a <= b, ASSAY_OK;
  case EXPR_EQUAL:
    return *out = a == b, ASSAY_OK;
  case EXPR_NOT_EQUAL:
    return *out = a != b, ASSAY_OK;
  case EXPR_MIN:
    return *out = a < b ? a : b, ASSAY_OK;
  default: // EXPR_MAX
    return *out = a > b ? a : b, ASSAY_OK;
  }
}

// Whether the expression is a real number by what is in it.
static bool is_real(const struct evaluation *e, const struct expr *x) {
  if (!x)
    return false;
  switch (x->op) {
  case EXPR_REAL:
  case EXPR_SQRT:
    return true;
  case EXPR_NAME:
    for (int i = 0; i < e->n_lets; i++)
      if (!strcmp(e->lets[i].name, x->name))
        return e->lets[i].value.is_real;
    return false;
  case EXPR_NOT: // these give 0 or 1, of whatever; the integer functions are integers
  case EXPR_LESS:
  case EXPR_LESS_EQUAL:
  case EXPR_EQUAL:
  case EXPR_NOT_EQUAL:
  case EXPR_AND:
  case EXPR_OR:
  case EXPR_CEIL_DIV:
  case EXPR_ROUND_UP:
  case EXPR_MOD:
    return false;
  case EXPR_CHOOSE:
    return is_real(e, x->b) || is_real(e, x->c);
  default:
    return is_real(e, x->a) || is_real(e, x->b);
  }
}

static enum assay_status truth(struct evaluation *e, const struct expr *x, bool *out) {
  struct value v;
  enum assay_status status = eval_value(e, x, &v);
  if (status == ASSAY_OK)
    *out = v.is_real ? v.real != 0 : v.integer != 0;
  return status;
}

// Comparisons and logic, whose operands may be real.
static enum assay_status logic(struct evaluation *e, const struct expr *x, int64_t *out) {
  bool a = false, b = false;
  enum assay_status status = truth(e, x->a, &a);
  if (status != ASSAY_OK)
    return status;
  if (x->op == EXPR_NOT)
    return *out = !a, ASSAY_OK;
  if (a == (x->op == EXPR_AND))
    status = truth(e, x->b, &b);
  *out = x->op == EXPR_AND ? a && b : a || b;
  return status;
}

static enum assay_status compare_reals(struct evaluation *e, const struct expr *x, int64_t *out) {
  double a = 0, b = 0;
  enum assay_status status = eval_real(e, x->a, &a);
  if (status == ASSAY_OK)
    status = eval_real(e, x->b, &b);
  *out = x->op == EXPR_LESS ? a < b : x->op == EXPR_LESS_EQUAL ? a <= b : x->op == EXPR_EQUAL ? a == b : a != b;
  return status;
}

static bool compares(enum expr_op op) {
  return op == EXPR_LESS || op == EXPR_LESS_EQUAL || op == EXPR_EQUAL || op == EXPR_NOT_EQUAL;
}

static enum assay_status name_integer(struct evaluation *e, const struct expr *x, int64_t *out) {
  struct value v;
  if (x == e->base)
    return *out = 0, ASSAY_OK;
  enum assay_status status = look_up(e, x, &v);
  if (status == ASSAY_OK && v.is_real)
    return eval_error(e, x->at, "%s is a real number (%g): an integer is wanted here", x->name, v.real);
  if (status == ASSAY_OK)
    *out = v.integer;
  return status;
}

enum assay_status eval_integer(struct evaluation *e, const struct expr *x, int64_t *out) {
  int64_t a = 0, b = 0;
  bool first = false;
  enum assay_status status = ASSAY_OK;
  switch (x->op) {
  case EXPR_INTEGER:
    return *out = x->value, ASSAY_OK;
  case EXPR_REAL:
  case EXPR_SQRT:
    return eval_error(e, x->at, "a real number: an integer is wanted here (float(...) and double(...) take real ones)");
  case EXPR_NAME:
    return name_integer(e, x, out);
  case EXPR_EXTENT:
  case EXPR_RANK:
  case EXPR_COUNT:
    return tensor_value(e, x, out);
  case EXPR_NOT:
  case EXPR_AND:
  case EXPR_OR:
    return logic(e, x, out);
  case EXPR_CHOOSE:
    status = truth(e, x->a, &first);
    return status == ASSAY_OK ? eval_integer(e, first ? x->b : x->c, out) : status;
  default:
    break;
  }
  if (compares(x->op) && (is_real(e, x->a) || is_real(e, x->b)))
    return compare_reals(e, x, out);
  status = eval_integer(e, x->a, &a);
  if (status == ASSAY_OK && x->op == EXPR_NEGATE)
    return __builtin_sub_overflow(0, a, out) ? overflow(e, x, "-", 0, a) : ASSAY_OK;
  if (status == ASSAY_OK)
    status = eval_integer(e, x->b, &b);
  return status == ASSAY_OK ? of_two(e, x, a, b, out) : status;
}

// ---- reals

static double of_two_reals(enum expr_op op, double a, double b) {
  switch (op) {
  case EXPR_ADD:
    return a + b;
  case EXPR_SUB:
    return a - b;
  case EXPR_MUL:
    return a * b;
  case EXPR_DIV:
    return a / b;
  case EXPR_MIN:
    return fmin(a, b);
  default: // EXPR_MAX
    return fmax(a, b);
  }
}

// What is an integer also where a real number is wanted.
static bool integer_only(enum expr_op op) {
  return op == EXPR_INTEGER || op == EXPR_EXTENT || op == EXPR_RANK || op == EXPR_COUNT || op == EXPR_NOT ||
         op == EXPR_AND || op == EXPR_OR || op == EXPR_CEIL_DIV || op == EXPR_ROUND_UP || op == EXPR_MOD ||
         compares(op);
}

enum assay_status eval_real(struct evaluation *e, const struct expr *x, double *out) {
  struct value v = {0};
  double a = 0, b = 0;
  bool first = false;
  enum assay_status status = ASSAY_OK;
  if (integer_only(x->op)) {
    status = eval_integer(e, x, &v.integer);
    *out = (double)v.integer;
    return status;
  }
  switch (x->op) {
  case EXPR_REAL:
    return *out = x->real, ASSAY_OK;
  case EXPR_NAME:
    status = look_up(e, x, &v);
    *out = v.is_real ? v.real : (double)v.integer;
    return status;
  case EXPR_CHOOSE:
    status = truth(e, x->a, &first);
    return status == ASSAY_OK ? eval_real(e, first ? x->b : x->c, out) : status;
  default:
    break;
  }
  status = eval_real(e, x->a, &a);
  if (status == ASSAY_OK && x->b)
    status = eval_real(e, x->b, &b);
  if (status != ASSAY_OK)
    return status;
  if (x->op == EXPR_DIV && b == 0)
    return eval_error(e, x->at, "%g / 0: division by zero", a);
  if (x->op == EXPR_SQRT && a < 0)
    return eval_error(e, x->at, "sqrt(%g): the number must not be negative", a);
  *out = x->op == EXPR_NEGATE ? -a : x->op == EXPR_SQRT ? sqrt(a) : of_two_reals(x->op, a, b);
  return ASSAY_OK;
}

enum assay_status eval_value(struct evaluation *e, const struct expr *x, struct value *out) {
  struct value v = {.is_real = is_real(e, x)};
  enum assay_status status = v.is_real ? eval_real(e, x, &v.real) : eval_integer(e, x, &v.integer);
  if (status == ASSAY_OK)
    *out = v;
  return status;
}
