// SPDX-License-Identifier: Apache-2.0
// Directive lines: reading them.
#include <stdio.h>
#include <ctype.h>
#include <string.h>

#include "toolchain/directive/private.h"

enum { MOST_KEYS = 16 }; // of one line

struct reader {
  struct parser parser;
  struct directive_set set;
  const struct directive **lines;
  const char **kernels, **options;
  int n_lets;
  size_t line_capacity, kernel_capacity, option_capacity;
};

static struct lexer *lexer_of(struct reader *r) {
  return &r->parser.lexer;
}

static enum assay_status unexpected(struct reader *r, const char *wanted) {
  return parser_error(&r->parser, "expected %s, not %s", wanted, lexer_quote(lexer_of(r)).text);
}

static enum assay_status read_name(struct reader *r, const char *what, const char **out) {
  struct lexer *l = lexer_of(r);
  if (l->next.kind != TOKEN_NAME)
    return unexpected(r, what);
  enum assay_status status = parser_name(&r->parser, out);
  if (status == ASSAY_OK)
    lexer_advance(l);
  return status;
}

// Of fill and copy, where something follows.
static enum assay_status read_place(struct reader *r, struct place_expr *out) {
  out->at = lexer_of(r)->next.at;
  enum assay_status status = read_name(r, "the name of a buffer", &out->name);
  if (status == ASSAY_OK && lexer_take(lexer_of(r), "+"))
    status = expr_read_product(&r->parser, &out->offset);
  if (status == ASSAY_OK && out->offset && lexer_at(lexer_of(r), "+"))
    return parser_error(&r->parser, "put the sum after %s + in parentheses", out->name);
  return status;
}

static enum assay_status read_list(struct reader *r, int most, struct expr_list *out) {
  out->at = lexer_of(r)->next.at;
  enum assay_status status;
  out->n = 0;
  do {
    if (out->n == most)
      return parser_error(&r->parser, "more than %d numbers", most);
    status = expr_read(&r->parser, &out->items[out->n++]);
  } while (status == ASSAY_OK && lexer_take(lexer_of(r), ","));
  return status;
}

// ---- arguments of kernels

static enum assay_status read_argument(struct reader *r, const struct argument **out);

static enum assay_status read_arguments(struct reader *r, int *n, const struct argument *const **out) {
  const struct argument **list = NULL;
  size_t capacity = 0;
  enum assay_status status;
  int count = 0;
  do {
    if (count == DIRECTIVE_MAX_ARGUMENTS)
      return parser_error(&r->parser, "more than %d arguments", DIRECTIVE_MAX_ARGUMENTS);
    if ((size_t)count == capacity) {
      const struct argument **more = arena_grow(r->parser.arena, list, (size_t)count, &capacity, sizeof *more);
      if (!more)
        return parser_nomem(&r->parser);
      list = more;
    }
    status = read_argument(r, &list[count++]);
  } while (status == ASSAY_OK && lexer_take(lexer_of(r), ","));
  *n = count;
  *out = list;
  return status;
}

static enum assay_status read_struct(struct reader *r, struct argument *a) {
  struct lexer *l = lexer_of(r);
  a->kind = ARGUMENT_STRUCT;
  if (++r->parser.depth > DIRECTIVE_MAX_DEPTH)
    return directive_error(r->parser.err, ASSAY_ERR_LIMIT, l->file, a->at, "structs nested more than %d deep",
                           DIRECTIVE_MAX_DEPTH);
  enum assay_status status = read_arguments(r, &a->n, &a->fields);
  if (status == ASSAY_OK && !lexer_take(l, "}"))
    return unexpected(r, "`,` or `}`");
  r->parser.depth--;
  return status;
}

// TYPE(EXPR) and local(EXPR), after the name.
static enum assay_status read_cast(struct reader *r, struct argument *a) {
  lexer_advance(lexer_of(r)); // "("
  enum assay_status status = expr_read(&r->parser, &a->expr);
  if (status == ASSAY_OK && !lexer_take(lexer_of(r), ")"))
    return unexpected(r, "`)`");
  return status;
}

static enum assay_status read_argument(struct reader *r, const struct argument **out) {
  struct lexer *l = lexer_of(r), before = *l;
  struct argument *a = arena_calloc(r->parser.arena, 1, sizeof *a);
  if (!a)
    return parser_nomem(&r->parser);
  *out = a;
  a->at = l->next.at;
  if (lexer_take(l, "{"))
    return read_struct(r, a);
  if (lexer_take(l, "null")) {
    a->kind = ARGUMENT_NULL;
    return ASSAY_OK;
  }
  if (l->next.kind == TOKEN_NAME && !l->next.quoted) {
    a->type = type_find(l->next.text, l->next.length);
    bool local = lexer_at(l, "local");
    lexer_advance(l);
    if (lexer_at(l, "(") && (a->type || local)) {
      a->kind = local ? ARGUMENT_LOCAL : ARGUMENT_TYPED;
      return read_cast(r, a);
    }
    *l = before;
  }
  a->kind = ARGUMENT_EXPR;
  return expr_read(&r->parser, &a->expr);
}

// ---- the kernel's name

static bool word_like(const struct token *t) {
  return t->kind == TOKEN_NAME || t->kind == TOKEN_INTEGER || t->kind == TOKEN_REAL;
}

// Everything of `matmul<128, 64, ns::tile<4>>` up to the `>` that closes it, words joined without blanks.
static enum assay_status read_kernel_name(struct reader *r, char name[256]) {
  struct lexer *l = lexer_of(r);
  int angles = 0, parens = 0;
  size_t used = 0;
  bool after_word = false, complete = false;
  if (l->next.kind != TOKEN_NAME || l->next.quoted)
    return unexpected(r, "the name of a kernel");
  while (!complete) {
    struct token t = l->next;
    if (t.kind == TOKEN_END || t.kind == TOKEN_BAD || t.quoted)
      return unexpected(r, angles ? "`>` that closes the kernel's template arguments" : "the name of a kernel");
    if (used + t.length + 2 >= 256)
      return parser_error(&r->parser,
                          "a kernel's name of more than 250 characters: give the instance a short name in C++");
    if (after_word && word_like(&t))
      name[used++] = ' ';
    memcpy(name + used, t.text, t.length);
    used += t.length;
    after_word = word_like(&t);
    angles += parens == 0 && lexer_at(l, "<");
    angles -= parens == 0 && lexer_at(l, ">");
    parens += lexer_at(l, "(") - lexer_at(l, ")");
    bool scope = lexer_at(l, "::");
    lexer_advance(l);
    complete = angles == 0 && parens == 0 && !scope && !lexer_at(l, "::") && !lexer_at(l, "<");
  }
  name[used] = '\0';
  return ASSAY_OK;
}

static enum assay_status add_kernel(struct reader *r, const char *name, int *index) {
  for (int i = 0; i < r->set.n_kernels; i++)
    if (!strcmp(r->kernels[i], name))
      return *index = i, ASSAY_OK;
  if ((size_t)r->set.n_kernels == r->kernel_capacity) {
    const char **more =
        arena_grow(r->parser.arena, r->kernels, (size_t)r->set.n_kernels, &r->kernel_capacity, sizeof *more);
    if (!more)
      return parser_nomem(&r->parser);
    r->kernels = more;
  }
  const char *copy = arena_strdup(r->parser.arena, name);
  if (!copy)
    return parser_nomem(&r->parser);
  r->kernels[ *index = r->set.n_kernels++] = copy;
  return ASSAY_OK;
}

// ---- keys

// KEY=VALUE of every directive; a row says where the value goes.
enum key_kind { KEY_EXPR, KEY_LIST3, KEY_LIST5, KEY_FLAG, KEY_ARGUMENTS, KEY_PLACE, KEY_WORD, KEY_TYPE };
struct choice {
  const char *word;
  uint32_t value;
};
struct key {
  const char *name;
  enum key_kind kind;
  size_t offset; // in struct directive
  const struct choice *choices;
  bool required;
};
#define AT(member) offsetof(struct directive, member)

// The driver's enumerators (cuda.h: CUtensorMapSwizzle and so on).
static const struct choice swizzles[] = {{"none", 0}, {"32", 1}, {"64", 2}, {"128", 3}, {NULL, 0}};
static const struct choice interleaves[] = {{"none", 0}, {"16", 1}, {"32", 2}, {NULL, 0}};
static const struct choice promotions[] = {{"none", 0}, {"64", 1}, {"128", 2}, {"256", 3}, {NULL, 0}};
static const struct choice fills[] = {{"zero", 0}, {"nan", 1}, {NULL, 0}};
static const struct choice map_types[] = {
    {"uint8", 0}, {"uint16", 1}, {"uint32", 2}, {"int32", 3},      {"uint64", 4}, {"int64", 5},     {"half", 6},
    {"float", 7}, {"double", 8}, {"bf16", 9},   {"float_ftz", 10}, {"tf32", 11},  {"tf32_ftz", 12}, {NULL, 0}};

static const struct key scratch_keys[] = {{"align", KEY_EXPR, AT(align), NULL, false}, {NULL, 0, 0, NULL, false}};
static const struct key launch_keys[] = {{"grid", KEY_LIST3, AT(grid), NULL, true},
                                         {"block", KEY_LIST3, AT(block), NULL, true},
                                         {"shared", KEY_EXPR, AT(shared), NULL, false},
                                         {"cluster", KEY_LIST3, AT(cluster), NULL, false},
                                         {"cooperative", KEY_FLAG, AT(cooperative), NULL, false},
                                         {"programmatic", KEY_FLAG, AT(programmatic), NULL, false},
                                         {"carveout", KEY_EXPR, AT(carveout), NULL, false},
                                         {"if", KEY_EXPR, AT(condition), NULL, false},
                                         {"args", KEY_ARGUMENTS, 0, NULL, false},
                                         {NULL, 0, 0, NULL, false}};
static const struct key fill_keys[] = {{"count", KEY_EXPR, AT(count), NULL, false},
                                       {"if", KEY_EXPR, AT(condition), NULL, false},
                                       {NULL, 0, 0, NULL, false}};
static const struct key copy_keys[] = {{"count", KEY_EXPR, AT(count), NULL, true},
                                       {"if", KEY_EXPR, AT(condition), NULL, false},
                                       {NULL, 0, 0, NULL, false}};
static const struct key map_keys[] = {{"of", KEY_PLACE, AT(from), NULL, true},
                                      {"type", KEY_WORD, AT(data_type), map_types, true},
                                      {"dims", KEY_LIST5, AT(dims), NULL, true},
                                      {"strides", KEY_LIST5, AT(strides), NULL, false},
                                      {"box", KEY_LIST5, AT(box), NULL, true},
                                      {"element_strides", KEY_LIST5, AT(element_strides), NULL, false},
                                      {"swizzle", KEY_WORD, AT(swizzle), swizzles, false},
                                      {"interleave", KEY_WORD, AT(interleave), interleaves, false},
                                      {"l2", KEY_WORD, AT(l2), promotions, false},
                                      {"oob", KEY_WORD, AT(oob), fills, false},
                                      {NULL, 0, 0, NULL, false}};

static enum assay_status read_choice_word(struct reader *r, const struct key *k, uint32_t *out) {
  struct lexer *l = lexer_of(r);
  char known[160] = "";
  const char *names[MOST_KEYS + 1] = {NULL};
  int count = 0;
  for (const struct choice *c = k->choices; c->word; c++) {
    size_t n = strlen(c->word), used = strlen(known);
    if (l->next.length == n && !memcmp(l->next.text, c->word, n)) {
      *out = c->value;
      lexer_advance(l);
      return ASSAY_OK;
    }
    snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", c->word);
    if (count < MOST_KEYS)
      names[count++] = c->word;
  }
  return parser_error(&r->parser, "%s is one of %s, not %s", k->name, known, lexer_quote_near(l, names).text);
}

static enum assay_status read_key_value(struct reader *r, const struct key *k, struct directive *d) {
  char *to = (char *)d + k->offset;
  switch (k->kind) {
  case KEY_EXPR:
    return expr_read(&r->parser, (const struct expr **)(void *)to);
  case KEY_LIST3:
    return read_list(r, 3, (struct expr_list *)(void *)to);
  case KEY_LIST5:
    return read_list(r, MAP_MAX_RANK, (struct expr_list *)(void *)to);
  case KEY_PLACE:
    return read_place(r, (struct place_expr *)(void *)to);
  case KEY_WORD:
    return read_choice_word(r, k, (uint32_t *)(void *)to);
  case KEY_ARGUMENTS:
    return read_arguments(r, &d->n_arguments, &d->arguments);
  default:
    *(bool *)(void *)to = true;
    return ASSAY_OK;
  }
}

static enum assay_status unknown_key(struct reader *r, const struct key *keys) {
  char known[200] = "";
  const char *names[MOST_KEYS + 1] = {NULL};
  int n = 0;
  for (const struct key *k = keys; k->name; k++) {
    size_t used = strlen(known);
    if (n < MOST_KEYS)
      names[n++] = k->name;
    snprintf(known + used, sizeof known - used, "%s%s%s", used ? ", " : "", k->name, k->kind == KEY_FLAG ? "" : "=");
  }
  return parser_error(&r->parser, "expected one of %s, not %s", known, lexer_quote_near(lexer_of(r), names).text);
}

// All that is left of the line: each key once, in any order.
static enum assay_status read_keys(struct reader *r, const struct key *keys, struct directive *d) {
  struct lexer *l = lexer_of(r);
  unsigned seen = 0;
  while (l->next.kind != TOKEN_END) {
    int i = 0;
    while (keys[i].name && !lexer_at(l, keys[i].name))
      i++;
    if (!keys[i].name)
      return unknown_key(r, keys);
    if (seen & 1u << i)
      return parser_error(&r->parser, "%s is said twice", keys[i].name);
    seen |= 1u << i;
    lexer_advance(l);
    if (keys[i].kind != KEY_FLAG && !lexer_take(l, "="))
      return parser_error(&r->parser, "expected `=` after %s, not %s", keys[i].name, lexer_quote(l).text);
    enum assay_status status = read_key_value(r, &keys[i], d);
    if (status != ASSAY_OK)
      return status;
  }
  for (int i = 0; keys[i].name; i++)
    if (keys[i].required && !(seen & 1u << i))
      return parser_error(&r->parser, "%s= is missing", keys[i].name);
  return ASSAY_OK;
}

// ---- verbs

static enum assay_status read_let(struct reader *r, struct directive *d) {
  if (++r->n_lets > DIRECTIVE_MAX_LETS)
    return directive_error(r->parser.err, ASSAY_ERR_LIMIT, r->set.file, d->at, "more than %d names",
                           DIRECTIVE_MAX_LETS);
  enum assay_status status = read_name(r, "a name", &d->name);
  if (status == ASSAY_OK && !lexer_take(lexer_of(r), "="))
    return unexpected(r, "`=`");
  return status == ASSAY_OK ? expr_read(&r->parser, &d->value) : status;
}

// tune NAME V,V,...: what a tuner may choose among (src/tune). Where nothing chose, it is a `let` of the first, if that
// is a number; words and texts are for macros.
static enum assay_status read_tune(struct reader *r, struct directive *d) {
  struct lexer *l = lexer_of(r);
  if (++r->n_lets > DIRECTIVE_MAX_LETS)
    return directive_error(r->parser.err, ASSAY_ERR_LIMIT, r->set.file, d->at, "more than %d names",
                           DIRECTIVE_MAX_LETS);
  enum assay_status status = read_name(r, "a name", &d->name);
  bool number = l->next.kind == TOKEN_INTEGER || l->next.kind == TOKEN_REAL || lexer_at(l, "-");
  if (status == ASSAY_OK && l->next.kind == TOKEN_END)
    return unexpected(r, "a value");
  if (status == ASSAY_OK && number)
    status = expr_read(&r->parser, &d->value);
  if (status == ASSAY_OK && (!number || lexer_at(l, ",")))
    lexer_raw_rest(l);
  return status;
}

static enum assay_status read_scratch(struct reader *r, struct directive *d) {
  struct lexer *l = lexer_of(r);
  enum assay_status status = read_name(r, "a name", &d->name);
  if (status != ASSAY_OK)
    return status;
  d->type = l->next.kind == TOKEN_NAME ? type_find(l->next.text, l->next.length) : NULL;
  if (!d->type)
    return unexpected(r, "a type (float, half, bf16, e4m3, double, bool, int8, uint8, int32, int64, ...)");
  lexer_advance(l);
  if (!lexer_take(l, "["))
    return unexpected(r, "`[` and the number of elements");
  status = expr_read(&r->parser, &d->count);
  if (status == ASSAY_OK && !lexer_take(l, "]"))
    return unexpected(r, "`]`");
  return status == ASSAY_OK ? read_keys(r, scratch_keys, d) : status;
}

static enum assay_status read_launch(struct reader *r, struct directive *d) {
  char name[256];
  enum assay_status status = read_kernel_name(r, name);
  if (status == ASSAY_OK)
    status = add_kernel(r, name, &d->kernel);
  if (status == ASSAY_OK)
    status = read_keys(r, launch_keys, d);
  d->name = status == ASSAY_OK ? r->kernels[d->kernel] : NULL;
  r->set.launches = true;
  return status;
}

static enum assay_status read_fill(struct reader *r, struct directive *d) {
  enum assay_status status = read_place(r, &d->to);
  if (status == ASSAY_OK)
    status = expr_read(&r->parser, &d->value);
  return status == ASSAY_OK ? read_keys(r, fill_keys, d) : status;
}

static enum assay_status read_copy(struct reader *r, struct directive *d) {
  enum assay_status status = read_place(r, &d->to);
  if (status == ASSAY_OK)
    status = read_place(r, &d->from);
  return status == ASSAY_OK ? read_keys(r, copy_keys, d) : status;
}

static enum assay_status read_map(struct reader *r, struct directive *d) {
  enum assay_status status = read_name(r, "a name", &d->name);
  return status == ASSAY_OK ? read_keys(r, map_keys, d) : status;
}

static enum assay_status read_require(struct reader *r, struct directive *d) {
  struct lexer *l = lexer_of(r);
  enum assay_status status = expr_read(&r->parser, &d->value);
  if (status != ASSAY_OK)
    return status;
  if (!lexer_take(l, "--") || l->next.kind == TOKEN_END)
    return unexpected(r, "`--` and a sentence that says why this kernel cannot do other workloads");
  struct token sentence = lexer_raw_rest(l);
  return (d->sentence = parser_text(&r->parser, sentence)) ? ASSAY_OK : parser_nomem(&r->parser);
}

static enum assay_status read_prepare(struct reader *r, struct directive *d) {
  (void)d;
  for (int i = 0; i < r->set.n; i++)
    if (r->lines[i]->verb == VERB_PREPARE)
      return parser_error(&r->parser, "prepare is said twice (first in line %d)", r->lines[i]->at.line);
  return ASSAY_OK;
}

static const struct {
  const char *name;
  enum directive_verb verb;
  enum assay_status (*read)(struct reader *r, struct directive *d);
} verbs[] = {
    {"let", VERB_LET, read_let},
    {"scratch", VERB_SCRATCH, read_scratch},
    {"launch", VERB_LAUNCH, read_launch},
    {"fill", VERB_FILL, read_fill},
    {"copy", VERB_COPY, read_copy},
    {"tensor_map", VERB_TENSOR_MAP, read_map},
    {"prepare", VERB_PREPARE, read_prepare},
    {"require", VERB_REQUIRE, read_require},
    {"tune", VERB_LET, read_tune},
};

static enum assay_status add_line(struct reader *r, const struct directive *d) {
  if (r->set.n == DIRECTIVE_MAX_LINES)
    return directive_error(r->parser.err, ASSAY_ERR_LIMIT, r->set.file, d->at, "more than %d directives",
                           DIRECTIVE_MAX_LINES);
  if ((size_t)r->set.n == r->line_capacity) {
    const struct directive **more =
        arena_grow(r->parser.arena, r->lines, (size_t)r->set.n, &r->line_capacity, sizeof *more);
    if (!more)
      return parser_nomem(&r->parser);
    r->lines = more;
  }
  r->lines[r->set.n++] = d;
  return ASSAY_OK;
}

static enum assay_status read_options(struct reader *r);

const char *const *directive_verbs(void) {
  static const char *const names[] = {"let",        "scratch",    "launch", "fill",    "copy",
                                      "tensor_map", "prepare",    "option", "require", "task",
                                      "tune",       "constraint", "twin",   "expect",  NULL};
  return names;
}

static enum assay_status unknown_verb(struct reader *r) {
  return parser_error(
      &r->parser,
      "expected one of let, scratch, launch, fill, copy, tensor_map, prepare, option, require, task, not %s",
      lexer_quote_near(lexer_of(r), directive_verbs()).text);
}

static enum assay_status read_line(struct reader *r) {
  struct lexer *l = lexer_of(r);
  static const char *const judges[] = {"task", "expect", "twin", "constraint"};
  for (size_t i = 0; i < sizeof judges / sizeof *judges; i++)
    if (lexer_at(l, judges[i]))
      return ASSAY_OK;
  const struct place at = l->next.at;
  if (lexer_take(l, "option"))
    return read_options(r);
  size_t v = 0;
  while (v < sizeof verbs / sizeof *verbs && !lexer_at(l, verbs[v].name))
    v++;
  if (v == sizeof verbs / sizeof *verbs)
    return unknown_verb(r);
  lexer_advance(l);
  struct directive *d = arena_calloc(r->parser.arena, 1, sizeof *d);
  if (!d)
    return parser_nomem(&r->parser);
  d->verb = verbs[v].verb;
  d->at = at;
  r->parser.depth = 0;
  enum assay_status status = verbs[v].read(r, d);
  if (status == ASSAY_OK && l->next.kind != TOKEN_END)
    return unexpected(r, "the end of the line");
  bool nothing = d->verb == VERB_LET && !d->value; // a parameter that is a word
  return status == ASSAY_OK && !nothing ? add_line(r, d) : status;
}

// ---- options

// Whether a flag is NAME followed by characters of a set, at least one.
static bool flag_is(struct token t, const char *name, const char *allowed) {
  size_t n = strlen(name);
  if (t.length <= n || memcmp(t.text, name, n) != 0)
    return false;
  for (size_t i = n; i < t.length; i++)
    if (!strchr(allowed, t.text[i]) || !t.text[i])
      return false;
  return true;
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define DIGITS "0123456789"

static bool option_allowed(struct token t) {
  // Of NVRTC and of OpenCL (section 5.8.4); what names files or other machines is not here.
  static const char *const plain[] = {"--use_fast_math",
                                      "-use_fast_math",
                                      "--extra-device-vectorization",
                                      "-extra-device-vectorization",
                                      "-lineinfo",
                                      "--generate-line-info",
                                      "--fmad=true",
                                      "--fmad=false",
                                      "-fmad=true",
                                      "-fmad=false",
                                      "--ftz=true",
                                      "--ftz=false",
                                      "--prec-div=true",
                                      "--prec-div=false",
                                      "--prec-sqrt=true",
                                      "--prec-sqrt=false",
                                      "--restrict",
                                      "-std=c++11",
                                      "-std=c++14",
                                      "-std=c++17",
                                      "-std=c++20",
                                      "--std=c++11",
                                      "--std=c++14",
                                      "--std=c++17",
                                      "--std=c++20",
                                      "-cl-fast-relaxed-math",
                                      "-cl-mad-enable",
                                      "-cl-denorms-are-zero",
                                      "-cl-no-signed-zeros",
                                      "-cl-std=CL1.2",
                                      "-cl-std=CL2.0",
                                      "-cl-std=CL3.0"};
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
    if (strlen(plain[i]) == t.length && !memcmp(plain[i], t.text, t.length))
      return true;
  return flag_is(t, "--maxrregcount=", DIGITS) || flag_is(t, "-maxrregcount=", DIGITS) ||
         (flag_is(t, "-D", LETTERS DIGITS "=().+-*<>:,") && strchr(LETTERS, t.text[2]));
}

static enum assay_status add_option(struct reader *r, struct token t) {
  if (!option_allowed(t))
    return directive_error(r->parser.err, ASSAY_ERR_SYNTAX, r->set.file, t.at,
                           "option %.*s is not allowed: there are --use_fast_math, -DNAME=VALUE, --maxrregcount=N, "
                           "-std=c++17, -std=c++20, --fmad=..., --ftz=..., --prec-div=..., --prec-sqrt=..., "
                           "--restrict, --extra-device-vectorization, -lineinfo, and for OpenCL -cl-std=CL1.2, "
                           "-cl-fast-relaxed-math, -cl-mad-enable, -cl-denorms-are-zero, -cl-no-signed-zeros",
                           (int)(t.length < 100 ? t.length : 100), t.text);
  if ((size_t)r->set.n_options == r->option_capacity) {
    const char **more =
        arena_grow(r->parser.arena, r->options, (size_t)r->set.n_options, &r->option_capacity, sizeof *more);
    if (!more)
      return parser_nomem(&r->parser);
    r->options = more;
  }
  const char *text = parser_text(&r->parser, t);
  if (!text)
    return parser_nomem(&r->parser);
  if (r->set.n_options == DIRECTIVE_MAX_LINES)
    return parser_error(&r->parser, "more than %d options", DIRECTIVE_MAX_LINES);
  r->options[r->set.n_options++] = text;
  return ASSAY_OK;
}

static enum assay_status read_options(struct reader *r) {
  struct lexer *l = lexer_of(r);
  if (l->next.kind == TOKEN_END)
    return unexpected(r, "a flag for the compiler");
  while (l->next.kind != TOKEN_END) {
    enum assay_status status = add_option(r, lexer_raw_word(l));
    if (status != ASSAY_OK)
      return status;
  }
  return ASSAY_OK;
}

// ---- sources

bool directive_launches(const char *source, size_t n) {
  struct lexer l;
  lexer_init(&l, "", source, n);
  while (lexer_next_directive(&l))
    if (lexer_at(&l, "launch"))
      return true;
  return false;
}

bool directive_launch_place(const struct directive_set *set, int kernel, int *line, int *column) {
  for (int i = 0; i < set->n; i++) {
    const struct directive *d = set->lines[i];
    if (d->verb != VERB_LAUNCH || d->kernel != kernel)
      continue;
    *line = d->at.line;
    *column = d->at.column;
    return true;
  }
  return false;
}

// A directive with one blank where it has any.
static void keep_text(const char *p, const char *stop, struct buf *out) {
  for (; p < stop; p++) {
    bool blank = isspace((unsigned char)*p);
    if (!blank || (out->len && out->data[out->len - 1] != ' '))
      buf_append(out, blank ? " " : p, 1);
  }
  buf_puts(out, "\n");
}

enum assay_status directive_parse(const char *file, const char *source, size_t n, struct arena *arena,
                                  struct directive_set *out, struct assay_error *err) {
  struct reader r = {.parser = {.arena = arena, .err = err}};
  enum assay_status status = ASSAY_OK;
  r.set.file = arena_strdup(arena, file);
  if (!r.set.file)
    return error_nomem(err, "directives");
  struct buf text = {0};
  lexer_init(lexer_of(&r), r.set.file, source, n);
  while (status == ASSAY_OK && lexer_next_directive(lexer_of(&r))) {
    const char *start = lexer_of(&r)->line_start;
    int before = r.set.n + r.set.n_options;
    status = read_line(&r);
    if (r.set.n + r.set.n_options > before) // not one of the judge's
      keep_text(start, lexer_of(&r)->stop, &text);
  }
  if (status == ASSAY_OK && text.failed)
    status = error_nomem(err, "directives");
  hash_sha256_hex(buf_str(&text), text.len, r.set.hash);
  buf_release(&text);
  if (status != ASSAY_OK)
    return status;
  r.set.lines = r.lines;
  r.set.kernels = r.kernels;
  r.set.options = r.options;
  *out = r.set;
  return ASSAY_OK;
}
