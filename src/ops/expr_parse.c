// SPDX-License-Identifier: Apache-2.0
// Recursive descent from text to block instructions. Temporaries are handed out as a stack, so that a program needs as
// many as the expression is deep.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ops/expr_program.h"

struct parser {
  const char *text, *at;
  const char *const *names;
  int n_names;
  int depth, n_temporaries, n_code, n_constants;
  enum assay_status status; // first failure; sticky
  struct assay_error *err;
  struct instruction code[EXPR_MAX_INSTRUCTIONS];
  double constants[EXPR_MAX_CONSTANTS];
};

static struct operand parse_choice(struct parser *p);

static struct operand fail(struct parser *p, enum assay_status status, const char *what) {
  if (p->status == ASSAY_OK)
    p->status = error_set(p->err, status, "column %d of \"%s\": %s", (int)(p->at - p->text) + 1, p->text, what);
  return (struct operand){0};
}

static void skip_space(struct parser *p) {
  while (isspace((unsigned char)*p->at))
    p->at++;
}

static bool accept(struct parser *p, const char *token) {
  skip_space(p);
  size_t n = strlen(token);
  if (p->status != ASSAY_OK || strncmp(p->at, token, n) != 0)
    return false;
  // "<" must not take the front of "<=", nor "!" that of "!=".
  if (n == 1 && strchr("<>!", token[0]) && p->at[1] == '=')
    return false;
  p->at += n;
  return true;
}

static void expect(struct parser *p, const char *token, const char *message) {
  if (!accept(p, token))
    fail(p, ASSAY_ERR_SYNTAX, message);
}

static struct operand constant(struct parser *p, double value) {
  for (int i = 0; i < p->n_constants; i++)
    if (memcmp(&p->constants[i], &value, sizeof value) == 0)
      return (struct operand){OPERAND_CONSTANT, (uint8_t)i};
  if (p->n_constants == EXPR_MAX_CONSTANTS)
    return fail(p, ASSAY_ERR_LIMIT, "too many constants");
  p->constants[p->n_constants] = value;
  return (struct operand){OPERAND_CONSTANT, (uint8_t)p->n_constants++};
}

static struct operand emit(struct parser *p, enum expr_operation op, const struct operand *from) {
  if (p->status != ASSAY_OK)
    return (struct operand){0};
  // A negative literal is a constant, not an operation.
  if (op == EXPR_NEG && from[0].kind == OPERAND_CONSTANT)
    return constant(p, -p->constants[from[0].index]);
  if (p->n_code == EXPR_MAX_INSTRUCTIONS)
    return fail(p, ASSAY_ERR_LIMIT, "too many operations");
  struct instruction *in = &p->code[p->n_code++];
  *in = (struct instruction){.operation = (uint8_t)op};
  for (int i = 0; i < expr_arity(op); i++) {
    in->from[i] = from[i];
    if (from[i].kind == OPERAND_TEMPORARY)
      p->n_temporaries--;
  }
  if (p->n_temporaries == EXPR_MAX_TEMPORARIES)
    return fail(p, ASSAY_ERR_LIMIT, "too many values are needed at once");
  in->target = (uint8_t)p->n_temporaries++;
  return (struct operand){OPERAND_TEMPORARY, in->target};
}

static struct operand parse_call(struct parser *p, const char *name, size_t len) {
  for (int op = 0; op < EXPR_OPERATION_COUNT; op++) {
    const char *spelling = expr_spelling((enum expr_operation)op);
    if (!isalpha((unsigned char)spelling[0]) || strlen(spelling) != len || strncmp(spelling, name, len) != 0)
      continue;
    struct operand from[3] = {{0}};
    int arity = expr_arity((enum expr_operation)op);
    for (int i = 0; i < arity; i++) {
      if (i > 0)
        expect(p, ",", "expected ',': the function has more arguments");
      from[i] = parse_choice(p);
    }
    expect(p, ")", "expected ')' after the function's arguments");
    return emit(p, (enum expr_operation)op, from);
  }
  p->at = name;
  return fail(p, ASSAY_ERR_SYNTAX, "no such function");
}

static struct operand parse_name(struct parser *p) {
  const char *name = p->at;
  while (isalnum((unsigned char)*p->at) || *p->at == '_')
    p->at++;
  size_t len = (size_t)(p->at - name);
  if (accept(p, "("))
    return parse_call(p, name, len);
  if (len == 1 && *name >= 'x' && *name <= 'z')
    return (struct operand){OPERAND_INPUT, (uint8_t)(*name - 'x')};
  for (int i = 0; i < p->n_names; i++)
    if (strlen(p->names[i]) == len && strncmp(p->names[i], name, len) == 0)
      return (struct operand){OPERAND_PARAM, (uint8_t)i};
  p->at = name;
  return fail(p, ASSAY_ERR_SYNTAX, "no such name: use x, y, z or an attribute");
}

static struct operand parse_primary(struct parser *p) {
  skip_space(p);
  if (p->status != ASSAY_OK)
    return (struct operand){0};
  if (isdigit((unsigned char)*p->at) || *p->at == '.') {
    char *end;
    double value = strtod(p->at, &end);
    if (end == p->at)
      return fail(p, ASSAY_ERR_SYNTAX, "expected a number");
    p->at = end;
    return constant(p, value);
  }
  if (isalpha((unsigned char)*p->at) || *p->at == '_')
    return parse_name(p);
  if (!accept(p, "("))
    return fail(p, ASSAY_ERR_SYNTAX, "expected a number, a name or '('");
  struct operand inner = parse_choice(p);
  expect(p, ")", "expected ')'");
  return inner;
}

static struct operand parse_unary(struct parser *p) {
  enum expr_operation op;
  if (accept(p, "-"))
    op = EXPR_NEG;
  else if (accept(p, "!"))
    op = EXPR_NOT;
  else
    return parse_primary(p);
  if (++p->depth > EXPR_MAX_DEPTH)
    return fail(p, ASSAY_ERR_LIMIT, "nested too deeply");
  struct operand from[3] = {parse_unary(p)};
  p->depth--;
  return emit(p, op, from);
}

// Left-associative binary operators, loosest level first; the tightest level's operands are unary expressions.
enum { BINARY_LEVELS = 5 };
static const enum expr_operation levels[BINARY_LEVELS][7] = {
    {EXPR_OR, EXPR_OPERATION_COUNT},
    {EXPR_AND, EXPR_OPERATION_COUNT},
    {EXPR_LE, EXPR_GE, EXPR_LT, EXPR_GT, EXPR_EQ, EXPR_NE, EXPR_OPERATION_COUNT},
    {EXPR_ADD, EXPR_SUB, EXPR_OPERATION_COUNT},
    {EXPR_MUL, EXPR_DIV, EXPR_OPERATION_COUNT},
};

static struct operand parse_binary(struct parser *p, int level) {
  if (level == BINARY_LEVELS)
    return parse_unary(p);
  struct operand left = parse_binary(p, level + 1);
  for (int i = 0; levels[level][i] != EXPR_OPERATION_COUNT;) {
    if (!accept(p, expr_spelling(levels[level][i]))) {
      i++;
      continue;
    }
    struct operand from[3] = {left, parse_binary(p, level + 1)};
    left = emit(p, levels[level][i], from);
    i = 0;
  }
  return left;
}

// A branch of `c ? a : b`; its instructions learn when they are needed if c is a bare attribute.
static struct operand parse_branch(struct parser *p, struct operand condition, bool if_zero) {
  int first = p->n_code;
  struct operand result = parse_choice(p);
  for (int i = first; i < p->n_code && condition.kind == OPERAND_PARAM; i++)
    if (!p->code[i].guard) {
      p->code[i].guard = (uint8_t)(condition.index + 1);
      p->code[i].guard_if_zero = if_zero;
    }
  return result;
}

static struct operand parse_choice(struct parser *p) {
  if (++p->depth > EXPR_MAX_DEPTH)
    return fail(p, ASSAY_ERR_LIMIT, "nested too deeply");
  struct operand result = parse_binary(p, 0);
  if (accept(p, "?")) {
    struct operand from[3] = {result};
    from[1] = parse_branch(p, from[0], false);
    expect(p, ":", "expected ':' of the selection");
    from[2] = parse_branch(p, from[0], true);
    result = emit(p, EXPR_SELECT, from);
  }
  p->depth--;
  return result;
}

enum assay_status expr_parse(const char *text, const char *const *names, int n_names, struct arena *arena,
                             const struct expr **out, struct assay_error *err) {
  struct parser p = {.text = text, .at = text, .names = names, .n_names = n_names, .err = err};
  if (n_names > EXPR_MAX_PARAMS)
    return error_set(err, ASSAY_ERR_LIMIT, "an expression may have at most %d attributes", EXPR_MAX_PARAMS);
  struct operand result = parse_choice(&p);
  skip_space(&p);
  if (*p.at)
    fail(&p, ASSAY_ERR_SYNTAX, "unexpected text after the expression");
  if (p.status != ASSAY_OK)
    return p.status;
  struct expr *e = arena_calloc(arena, 1, sizeof *e);
  struct instruction *code = arena_calloc(arena, (size_t)p.n_code + 1, sizeof *code);
  double *constants = arena_calloc(arena, (size_t)p.n_constants + 1, sizeof *constants);
  if (!e || !code || !constants)
    return error_nomem(err, "an expression");
  memcpy(code, p.code, (size_t)p.n_code * sizeof *code);
  memcpy(constants, p.constants, (size_t)p.n_constants * sizeof *constants);
  *e = (struct expr){.n_instructions = p.n_code,
                     .result = result,
                     .code = code,
                     .constants = constants,
                     .n_constants = p.n_constants,
                     .n_params = n_names};
  *out = e;
  return ASSAY_OK;
}
