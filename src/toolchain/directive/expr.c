// SPDX-License-Identifier: Apache-2.0
// Expressions of directive lines: reading them.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "toolchain/directive/private.h"

enum assay_status parser_nomem(struct parser *p) {
  return directive_error(p->err, ASSAY_ERR_LIMIT, p->lexer.file, p->lexer.next.at,
                         "the directives take too much memory: write fewer or shorter ones");
}

enum assay_status parser_error(struct parser *p, const char *fmt, ...) {
  char message[ASSAY_ERROR_MESSAGE_BYTES];
  const struct token *t = &p->lexer.next;
  if (t->kind == TOKEN_BAD && t->text[0] == '\\')
    return directive_error(p->err, ASSAY_ERR_SYNTAX, p->lexer.file, t->at,
                           "a directive that ends in a backslash goes on in the next line, which must begin with `//`");
  va_list args;
  va_start(args, fmt);
  vsnprintf(message, sizeof message, fmt, args);
  va_end(args);
  return directive_error(p->err, ASSAY_ERR_SYNTAX, p->lexer.file, t->at, "%s", message);
}

char *parser_text(struct parser *p, struct token t) {
  return arena_strndup(p->arena, t.text, t.length);
}

enum assay_status parser_name(struct parser *p, const char **out) {
  if (p->lexer.next.length > DIRECTIVE_MAX_NAME)
    return directive_error(p->err, ASSAY_ERR_LIMIT, p->lexer.file, p->lexer.next.at,
                           "a name of more than %d characters", DIRECTIVE_MAX_NAME);
  return (*out = parser_text(p, p->lexer.next)) ? ASSAY_OK : parser_nomem(p);
}

static struct expr *new_expr(struct parser *p, enum expr_op op, struct place at) {
  bool enough = ++p->nodes > DIRECTIVE_MAX_NODES || ++p->total > DIRECTIVE_MAX_TOTAL;
  struct expr *x = enough ? NULL : arena_calloc(p->arena, 1, sizeof *x);
  if (x) {
    x->op = op;
    x->at = at;
  }
  return x;
}

static enum assay_status no_node(struct parser *p) {
  if (p->nodes > DIRECTIVE_MAX_NODES)
    return directive_error(p->err, ASSAY_ERR_LIMIT, p->lexer.file, p->lexer.next.at,
                           "an expression of more than %d terms: name parts of it with `let`", DIRECTIVE_MAX_NODES);
  if (p->total > DIRECTIVE_MAX_TOTAL)
    return directive_error(p->err, ASSAY_ERR_LIMIT, p->lexer.file, p->lexer.next.at,
                           "more than %d terms in all expressions of the file", DIRECTIVE_MAX_TOTAL);
  return parser_nomem(p);
}

static enum assay_status combine(struct parser *p, enum expr_op op, struct place at, const struct expr *a,
                                 const struct expr *b, const struct expr *c, const struct expr **out) {
  struct expr *x = new_expr(p, op, at);
  if (!x)
    return no_node(p);
  x->a = a;
  x->b = b;
  x->c = c;
  *out = x;
  return ASSAY_OK;
}

static enum assay_status read_choice(struct parser *p, const struct expr **out);

// ---- numbers and names

static enum assay_status read_integer(struct parser *p, bool negative, int64_t *out) {
  char text[72];
  const struct token t = p->lexer.next;
  if (t.kind != TOKEN_INTEGER)
    return parser_error(p, "expected an integer, not %s", lexer_quote(&p->lexer).text);
  bool hex = t.length > 1 && (t.text[1] == 'x' || t.text[1] == 'X');
  bool octal = !hex && t.length > 1 && t.text[0] == '0';
  if (t.length >= sizeof text || octal || (hex && t.length == 2))
    return parser_error(p, "%s is not an integer: write it in decimal without leading zeros, or as 0x1F",
                        lexer_quote(&p->lexer).text);
  memcpy(text, t.text, t.length);
  text[t.length] = '\0';
  errno = 0;
  unsigned long long v = strtoull(text, NULL, hex ? 16 : 10);
  if (errno || v > (uint64_t)INT64_MAX)
    return parser_error(p, "%s does not fit into 64 bits with a sign", lexer_quote(&p->lexer).text);
  *out = negative ? -(int64_t)v : (int64_t)v;
  lexer_advance(&p->lexer);
  return ASSAY_OK;
}

static enum assay_status read_number(struct parser *p, const struct expr **out) {
  const struct token t = p->lexer.next;
  struct expr *x = new_expr(p, t.kind == TOKEN_REAL ? EXPR_REAL : EXPR_INTEGER, t.at);
  if (!x)
    return no_node(p);
  *out = x;
  if (t.kind == TOKEN_INTEGER)
    return read_integer(p, false, &x->value);
  char *text = parser_text(p, t);
  if (!text)
    return parser_nomem(p);
  x->real = strtod(text, NULL);
  lexer_advance(&p->lexer);
  return ASSAY_OK;
}

// name.0  name.-1  name.rank  name.count
static enum assay_status read_member(struct parser *p, struct expr *x) {
  struct lexer *l = &p->lexer;
  lexer_advance(l);
  if (lexer_take(l, "rank")) {
    x->op = EXPR_RANK;
    return ASSAY_OK;
  }
  if (lexer_take(l, "count")) {
    x->op = EXPR_COUNT;
    return ASSAY_OK;
  }
  x->op = EXPR_EXTENT;
  bool negative = lexer_take(l, "-");
  if (l->next.kind != TOKEN_INTEGER)
    return parser_error(p, "expected an extent (%s.0, %s.-1), %s.rank or %s.count, not %s", x->name, x->name, x->name,
                        x->name, lexer_quote(l).text);
  return read_integer(p, negative, &x->value);
}

struct function {
  const char *name;
  enum expr_op op;
  int least, most; // arguments
};
static const struct function functions[] = {
    {"ceil_div", EXPR_CEIL_DIV, 2, 2}, {"round_up", EXPR_ROUND_UP, 2, 2}, {"min", EXPR_MIN, 2, 16},
    {"max", EXPR_MAX, 2, 16},          {"sqrt", EXPR_SQRT, 1, 1},
};

// Behind the name. min and max of many are nested ones of two.
static enum assay_status read_call(struct parser *p, struct token name, const struct expr **out) {
  const struct function *f = NULL;
  char word[64], meant[64];
  snprintf(word, sizeof word, "%.*s", (int)(name.length < sizeof word ? name.length : sizeof word - 1), name.text);
  struct nearest near = {.word = word};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    if (strlen(functions[i].name) == name.length && !memcmp(functions[i].name, name.text, name.length))
      f = &functions[i];
    nearest_offer(&near, functions[i].name);
  }
  if (!f)
    return directive_error(p->err, ASSAY_ERR_SYNTAX, p->lexer.file, name.at,
                           "no function `%s`%s (there are ceil_div, round_up, min, max and sqrt)", word,
                           nearest_text(&near, meant, sizeof meant));
  const struct expr *first = NULL, *next = NULL;
  enum assay_status status;
  int n = 0;
  do {
    lexer_advance(&p->lexer); // "(" or ","
    status = read_choice(p, &next);
    if (status == ASSAY_OK && n == 0)
      first = next;
    else if (status == ASSAY_OK && n < f->most)
      status = combine(p, f->op, name.at, first, next, NULL, &first);
    n++;
  } while (status == ASSAY_OK && lexer_at(&p->lexer, ","));
  if (status == ASSAY_OK && f->most == 1)
    status = combine(p, f->op, name.at, first, NULL, NULL, &first);
  if (status == ASSAY_OK && (n < f->least || n > f->most))
    return directive_error(p->err, ASSAY_ERR_SYNTAX, p->lexer.file, name.at, "%s takes %d%s argument%s, not %d",
                           f->name, f->least, f->most > f->least ? " or more" : "", f->most > 1 ? "s" : "", n);
  if (status == ASSAY_OK && !lexer_take(&p->lexer, ")"))
    return parser_error(p, "expected `)` or `,`, not %s", lexer_quote(&p->lexer).text);
  *out = first;
  return status;
}

static enum assay_status read_name(struct parser *p, const struct expr **out) {
  struct lexer *l = &p->lexer;
  const struct token t = l->next;
  const char *name;
  enum assay_status status = parser_name(p, &name);
  if (status != ASSAY_OK)
    return status;
  lexer_advance(l);
  if (!t.quoted && lexer_at(l, "("))
    return read_call(p, t, out);
  struct expr *x = new_expr(p, EXPR_NAME, t.at);
  if (!x)
    return no_node(p);
  x->name = name;
  *out = x;
  if (!t.quoted && (!strcmp(x->name, "true") || !strcmp(x->name, "false"))) {
    x->op = EXPR_INTEGER;
    x->value = x->name[0] == 't';
    return ASSAY_OK;
  }
  if (!t.quoted && (!strcmp(x->name, "inf") || !strcmp(x->name, "nan"))) {
    x->op = EXPR_REAL;
    x->real = x->name[0] == 'i' ? (double)__builtin_inf() : (double)__builtin_nan("");
    return ASSAY_OK;
  }
  return lexer_at(l, ".") ? read_member(p, x) : ASSAY_OK;
}

// ---- operators

// Counts nesting, which recursion follows.
static enum assay_status deeper(struct parser *p) {
  if (++p->depth > DIRECTIVE_MAX_DEPTH)
    return directive_error(p->err, ASSAY_ERR_LIMIT, p->lexer.file, p->lexer.next.at,
                           "an expression nested more than %d deep: name parts of it with `let`", DIRECTIVE_MAX_DEPTH);
  return ASSAY_OK;
}

static enum assay_status read_primary(struct parser *p, const struct expr **out) {
  struct lexer *l = &p->lexer;
  if (l->next.kind == TOKEN_INTEGER || l->next.kind == TOKEN_REAL)
    return read_number(p, out);
  if (l->next.kind == TOKEN_NAME)
    return read_name(p, out);
  if (!lexer_take(l, "("))
    return parser_error(p, "expected a number, a name or `(`, not %s", lexer_quote(l).text);
  enum assay_status status = read_choice(p, out);
  if (status == ASSAY_OK && !lexer_take(l, ")"))
    return parser_error(p, "expected `)`, not %s%s", lexer_quote(l).text,
                        lexer_at(l, ",") ? ": lists have no brackets around them (grid=M,N)" : "");
  return status;
}

static enum assay_status read_unary(struct parser *p, const struct expr **out) {
  struct lexer *l = &p->lexer;
  const struct place at = l->next.at;
  const struct expr *a = NULL;
  enum assay_status status = deeper(p);
  if (status != ASSAY_OK)
    return status;
  enum expr_op op = lexer_at(l, "!") ? EXPR_NOT : EXPR_NEGATE;
  if (lexer_take(l, "-") || lexer_take(l, "!")) {
    status = read_unary(p, &a);
    if (status == ASSAY_OK)
      status = combine(p, op, at, a, NULL, NULL, out);
  } else {
    (void)lexer_take(l, "+");
    status = read_primary(p, out);
  }
  p->depth--;
  return status;
}

struct level_op {
  const char *mark;
  enum expr_op op;
  bool swapped; // a > b is b < a
};
enum { LEVELS = 6, LEVEL_OPS = 4 };
static const struct level_op levels[LEVELS][LEVEL_OPS + 1] = {
    {{"||", EXPR_OR, false}},
    {{"&&", EXPR_AND, false}},
    {{"==", EXPR_EQUAL, false}, {"!=", EXPR_NOT_EQUAL, false}},
    {{"<", EXPR_LESS, false}, {"<=", EXPR_LESS_EQUAL, false}, {">", EXPR_LESS, true}, {">=", EXPR_LESS_EQUAL, true}},
    {{"+", EXPR_ADD, false}, {"-", EXPR_SUB, false}},
    {{"*", EXPR_MUL, false}, {"/", EXPR_DIV, false}, {"%", EXPR_MOD, false}},
};

static const struct level_op *operator_here(const struct lexer *l, int level) {
  for (const struct level_op *o = levels[level]; o->mark; o++)
    if (lexer_at(l, o->mark))
      return o;
  return NULL;
}

static enum assay_status read_level(struct parser *p, int level, const struct expr **out) {
  if (level == LEVELS)
    return read_unary(p, out);
  const struct expr *a = NULL, *b = NULL;
  enum assay_status status = read_level(p, level + 1, &a);
  for (const struct level_op *o; status == ASSAY_OK && (o = operator_here(&p->lexer, level));) {
    const struct place at = p->lexer.next.at;
    lexer_advance(&p->lexer);
    status = read_level(p, level + 1, &b);
    if (status == ASSAY_OK)
      status = combine(p, o->op, at, o->swapped ? b : a, o->swapped ? a : b, NULL, &a);
  }
  *out = a;
  return status;
}

static enum assay_status read_choice(struct parser *p, const struct expr **out) {
  const struct expr *a = NULL, *b = NULL, *c = NULL;
  enum assay_status status = deeper(p);
  if (status == ASSAY_OK)
    status = read_level(p, 0, &a);
  const struct place at = p->lexer.next.at;
  if (status == ASSAY_OK && lexer_take(&p->lexer, "?")) {
    status = read_choice(p, &b);
    if (status == ASSAY_OK && !lexer_take(&p->lexer, ":"))
      return parser_error(p, "expected `:` of `condition ? a : b`, not %s", lexer_quote(&p->lexer).text);
    if (status == ASSAY_OK)
      status = read_choice(p, &c);
    if (status == ASSAY_OK)
      status = combine(p, EXPR_CHOOSE, at, a, b, c, &a);
  }
  p->depth--;
  *out = a;
  return status;
}

static enum assay_status read_from_level(struct parser *p, int level, const struct expr **out) {
  const struct expr *x = NULL;
  p->nodes = 0;
  enum assay_status status = level < 0 ? read_choice(p, &x) : read_level(p, level, &x);
  if (status == ASSAY_OK)
    *out = x;
  return status;
}

enum assay_status expr_read(struct parser *p, const struct expr **out) {
  return read_from_level(p, -1, out);
}

enum assay_status expr_read_product(struct parser *p, const struct expr **out) {
  return read_from_level(p, LEVELS - 1, out);
}
