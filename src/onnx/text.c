// SPDX-License-Identifier: Apache-2.0
// The grammar of ONNX's textual syntax (docs/Syntax.md of the ONNX project; onnx/defs/parser.h for the cases that page
// leaves out), by recursive descent with one token to look at:
//
//   model    = [ "<" key ":" value { "," key ":" value } ">" ] graph { function }
//   graph    = name "(" inputs ")" "=>" "(" outputs ")" [ "<" initializers and types ">" ] "{" { node } "}"
//   function = [ "<" key ":" value ... ">" ] name [ "<" formal attributes ">" ] "(" names ")" "=>" "(" names ")"
//              [ "<" types ">" ] "{" { node } "}"
//   node     = [ "[" name "]" ] outputs "=" [ domain "." ] operator [ attributes ] "(" inputs ")" [ attributes ]
//
// One extension: where the official syntax has no way to write a domain, operator or attribute whose name is not an
// identifier, it may be quoted, so that everything that binary files hold can be printed and read again.
#include "onnx/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ops/op.h"

// All syntax errors have this form: the place, what was expected, what was found.
enum assay_status text_expected(struct parser *p, const char *fmt, ...) {
  char what[256], found[80];
  va_list args;
  va_start(args, fmt);
  vsnprintf(what, sizeof what, fmt, args);
  va_end(args);
  return build_error(p->err, ASSAY_ERR_SYNTAX, &p->token.at, "expected %s, found %s", what,
                     lex_describe(&p->token, found));
}

enum assay_status text_advance(struct parser *p) {
  return lex_next(&p->lexer, &p->token, p->err);
}

bool text_is(const struct parser *p, char mark) {
  return p->token.kind == TOKEN_MARK && p->token.mark == mark;
}

enum assay_status text_accept(struct parser *p, char mark, bool *accepted) {
  *accepted = text_is(p, mark);
  return *accepted ? text_advance(p) : ASSAY_OK;
}

enum assay_status text_expect(struct parser *p, char mark, const char *where) {
  if (!text_is(p, mark))
    return text_expected(p, "'%c' %s", mark, where);
  return text_advance(p);
}

// The content is never longer than the token, so the token's length is room enough.
enum assay_status text_string(struct parser *p, const char *what, const char **out) {
  const struct token *t = &p->token;
  if (t->kind != TOKEN_STRING)
    return text_expected(p, "%s in quotes", what);
  char *s = build_alloc(&p->model->arena, t->len, 1, "a string", p->err);
  if (!s)
    return p->err->status;
  size_t n = 0;
  for (size_t i = 1; i + 1 < t->len; i++) {
    if (t->start[i] == '\\')
      i++;
    s[n++] = t->start[i];
  }
  *out = s;
  return text_advance(p);
}

enum assay_status text_word(struct parser *p, const char *what, const char **out) {
  if (p->token.kind != TOKEN_IDENTIFIER)
    return text_expected(p, "%s", what);
  TRY(build_string(&p->model->arena, p->token.start, p->token.len, &p->token.at, out, p->err));
  return text_advance(p);
}

// Where the syntax wants a name it may be quoted, which is how other characters than letters get in.
enum assay_status text_name(struct parser *p, const char *what, bool optional, const char **out,
                            struct source_location *at) {
  *at = p->token.at;
  if (p->token.len > ONNX_MAX_NAME_BYTES && (p->token.kind == TOKEN_STRING || p->token.kind == TOKEN_IDENTIFIER))
    return build_error(p->err, ASSAY_ERR_LIMIT, at, "a name has %zu bytes; at most %d are accepted", p->token.len,
                       ONNX_MAX_NAME_BYTES);
  if (p->token.kind == TOKEN_STRING)
    return text_string(p, what, out);
  if (optional && p->token.kind != TOKEN_IDENTIFIER) {
    *out = "";
    return ASSAY_OK;
  }
  return text_word(p, what, out);
}

enum assay_status text_int(struct parser *p, const char *what, int64_t *out) {
  if (p->token.kind != TOKEN_INTEGER)
    return text_expected(p, "%s, an integer", what);
  TRY(lex_int(&p->token, out, p->err));
  return text_advance(p);
}

// The whole list is checked at once; messages about it point at its beginning.
static enum assay_status parse_opsets(struct parser *p, struct opset_import **out, int *n) {
  struct arena *a = &p->model->arena;
  struct source_location at = p->token.at;
  size_t capacity = 0;
  int64_t version;
  *n = 0;
  TRY(text_expect(p, '[', "before the imported opsets, as in [\"\" : 23]"));
  bool more = !text_is(p, ']');
  while (more) {
    if (*n >= BUILD_MAX_LIST)
      return build_error(p->err, ASSAY_ERR_LIMIT, &p->token.at, "more than %d opsets are imported", BUILD_MAX_LIST);
    TRY(build_grow(a, out, (size_t)*n, &capacity, sizeof **out, "imported opsets", p->err));
    struct opset_import *o = &(*out)[*n];
    TRY(text_string(p, "a domain", &o->domain));
    TRY(text_expect(p, ':', "between a domain and its version"));
    struct source_location version_at = p->token.at;
    TRY(text_int(p, "an opset version", &version));
    if (version < 0 || version > INT32_MAX)
      return build_error(p->err, ASSAY_ERR_INVALID, &version_at, "opset version %lld is out of range",
                         (long long)version);
    o->version = (int)version;
    ++*n;
    TRY(text_accept(p, ',', &more));
  }
  TRY(text_expect(p, ']', "after the imported opsets"));
  return build_check_opsets(*out, *n, &at, p->err);
}

// Tasks keep their whole description here (task/task.h); their places are kept for its messages.
static enum assay_status parse_properties(struct parser *p) {
  struct model *m = p->model;
  struct name_table keys = {0};
  size_t capacity = 0;
  TRY(text_expect(p, '[', "before the metadata, as in [\"key\" : \"value\"]"));
  bool more = !text_is(p, ']');
  while (more) {
    TRY(build_grow(&m->arena, &m->properties, (size_t)m->n_properties, &capacity, sizeof *m->properties, "the metadata",
                   p->err));
    struct property *q = &m->properties[m->n_properties];
    q->at = p->token.at;
    TRY(text_string(p, "a key", &q->key));
    if (name_table_find(&keys, q->key, strlen(q->key)) >= 0)
      return build_error(p->err, ASSAY_ERR_INVALID, &q->at, "metadata key \"%.200s\" is given twice", q->key);
    TRY(name_table_add(&keys, &m->arena, q->key, m->n_properties++, p->err));
    TRY(text_expect(p, ':', "between a key and its value"));
    TRY(text_string(p, "a value", &q->value));
    TRY(text_accept(p, ',', &more));
  }
  if (!text_is(p, ']'))
    return text_expected(p, "',' or ']' after a metadata entry");
  return text_advance(p);
}

// The value of one key of a model's or function's header.
static enum assay_status parse_header_value(struct parser *p, struct function *f, const char *key,
                                            const struct source_location *at) {
  struct model *m = p->model;
  struct {
    const char *key;
    const char **out;
  } const strings[] = {{"doc_string", f ? &(const char *){NULL} : &m->doc_string},
                       {"domain", f ? &f->domain : &m->domain},
                       {f ? NULL : "producer_name", &m->producer_name},
                       {f ? NULL : "producer_version", &m->producer_version}};
  for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
    if (strings[i].key && strcmp(key, strings[i].key) == 0)
      return text_string(p, key, strings[i].out);
  if (strcmp(key, "opset_import") == 0)
    return f ? parse_opsets(p, &f->opsets, &f->n_opsets) : parse_opsets(p, &m->opsets, &m->n_opsets);
  if (f && strcmp(key, "overload") == 0)
    return build_error(p->err, ASSAY_ERR_UNSUPPORTED, at,
                       "overloads of functions are not supported; give the function a name of its own");
  if (!f && strcmp(key, "ir_version") == 0) {
    struct source_location value_at = p->token.at;
    TRY(text_int(p, key, &m->ir_version));
    return build_check_ir(m->ir_version, &value_at, p->err);
  }
  if (!f && strcmp(key, "model_version") == 0)
    return text_int(p, key, &m->model_version);
  if (!f && strcmp(key, "metadata_props") == 0)
    return parse_properties(p);
  return build_error(p->err, ASSAY_ERR_SYNTAX, at, "expected %s, found '%.40s'",
                     f ? "domain, opset_import or doc_string"
                       : "ir_version, opset_import, producer_name, producer_version, domain, model_version, doc_string "
                         "or metadata_props",
                     key);
}

// "<key: value, ...>"; f is NULL for the model's own.
static enum assay_status parse_header(struct parser *p, struct function *f) {
  const char *seen[16], *key;
  int n_seen = 0;
  bool more;
  TRY(text_expect(p, '<', "before a header"));
  do {
    struct source_location at = p->token.at;
    TRY(text_word(p, "a key such as opset_import", &key));
    for (int i = 0; i < n_seen; i++)
      if (strcmp(seen[i], key) == 0)
        return build_error(p->err, ASSAY_ERR_SYNTAX, &at, "'%s' is given twice", key);
    TRY(text_expect(p, ':', "after the key"));
    TRY(parse_header_value(p, f, key, &at)); // refuses unknown keys, so that `seen` cannot overflow
    seen[n_seen++] = key;
    TRY(text_accept(p, ',', &more));
  } while (more);
  if (!text_is(p, '>'))
    return text_expected(p, "',' or '>' after a header's entry");
  return text_advance(p);
}

// "<alpha, beta: float = 1.0>": names alone must be given by the caller if the body needs them.
static enum assay_status parse_formals(struct parser *p, struct function *f) {
  struct arena *a = &p->model->arena;
  size_t cap_names = 0, cap_defaults = 0;
  const char **names = NULL;
  bool more = true;
  TRY(text_advance(p));
  while (more) {
    struct source_location at;
    const char *name;
    TRY(text_name(p, "the name of an attribute", false, &name, &at));
    bool twice = false;
    for (int i = 0; i < f->n_attrs; i++)
      twice = twice || strcmp(names[i], name) == 0;
    for (int i = 0; i < f->n_defaults; i++)
      twice = twice || strcmp(f->defaults[i].name, name) == 0;
    if (twice || f->n_attrs + f->n_defaults >= BUILD_MAX_LIST)
      return build_error(p->err, twice ? ASSAY_ERR_INVALID : ASSAY_ERR_LIMIT, &at, "attribute '%.200s' %s", name,
                         twice ? "is declared twice" : "is one too many");
    if (text_is(p, ':') || text_is(p, '=')) {
      TRY(build_grow(a, &f->defaults, (size_t)f->n_defaults, &cap_defaults, sizeof *f->defaults, "a function", p->err));
      TRY(text_attr_value(p, name, &at, &f->defaults[f->n_defaults]));
      if (f->defaults[f->n_defaults++].ref)
        return build_error(p->err, ASSAY_ERR_INVALID, &at, "the default of '%.200s' cannot be a reference", name);
    } else {
      TRY(build_grow(a, &names, (size_t)f->n_attrs, &cap_names, sizeof *names, "a function", p->err));
      names[f->n_attrs++] = name;
      f->attr_names = names;
    }
    TRY(text_accept(p, ',', &more));
  }
  return text_expect(p, '>', "after the attributes of a function");
}

// Functions follow the graph that calls them, so calls are resolved only when all is read.
static enum assay_status parse_function(struct parser *p, struct function *f) {
  struct source_location at;
  f->domain = "";
  if (text_is(p, '<'))
    TRY(parse_header(p, f));
  f->domain = build_domain(f->domain);
  if (p->token.kind != TOKEN_IDENTIFIER && p->token.kind != TOKEN_STRING)
    return text_expected(p, "a function or the end of the text");
  TRY(text_name(p, "the name of a function", false, &f->name, &at));
  f->body.name = f->name;
  if (text_is(p, '<'))
    TRY(parse_formals(p, f));
  return text_body(p, &f->body, false);
}

static enum assay_status parse_functions(struct parser *p) {
  struct model *m = p->model;
  size_t capacity = 0;
  while (p->token.kind != TOKEN_END) {
    TRY(build_grow(&m->arena, &m->functions, (size_t)m->n_functions, &capacity, sizeof *m->functions, "the functions",
                   p->err));
    TRY(parse_function(p, &m->functions[m->n_functions]));
    m->n_functions++;
  }
  return ASSAY_OK;
}

// The syntax allows a model without a header, but operators need the versions in it.
static enum assay_status parse_model(struct parser *p) {
  struct source_location graph_at;
  TRY(text_advance(p));
  if (p->token.kind == TOKEN_END)
    return text_expected(p, "a model, which begins with '<ir_version: 10, opset_import: [\"\" : 23]>'");
  if (text_is(p, '<'))
    TRY(parse_header(p, NULL));
  graph_at = p->token.at;
  TRY(text_name(p, "the name of the graph", false, &p->model->graph.name, &graph_at));
  TRY(build_check_ir(p->model->ir_version, &graph_at, p->err));
  TRY(text_body(p, &p->model->graph, true));
  TRY(parse_functions(p));
  return graph_inline(p->model, p->err);
}

// A graph alone: all versions are the newest.
static enum assay_status parse_bare_graph(struct parser *p) {
  struct model *m = p->model;
  struct source_location ignored;
  m->ir_version = 10;
  m->opsets = build_alloc(&m->arena, 2, sizeof *m->opsets, "imported opsets", p->err);
  if (!m->opsets)
    return p->err->status;
  m->opsets[m->n_opsets++] = (struct opset_import){"", OP_NEWEST_OPSET};
  m->opsets[m->n_opsets++] = (struct opset_import){"ai.assay", OP_NEWEST_ASSAY_OPSET};
  TRY(text_advance(p));
  TRY(text_name(p, "the name of the graph", true, &m->graph.name, &ignored));
  if (*m->graph.name == '\0')
    m->graph.name = "g";
  TRY(text_body(p, &m->graph, true));
  if (p->token.kind != TOKEN_END)
    return text_expected(p, "the end of the text after the graph");
  return graph_inline(m, p->err);
}

// What the two entries share: a model, a locale, a lexer.
static enum assay_status parse_all(const char *text, size_t len, const char *name, struct model *m,
                                   enum assay_status (*parse)(struct parser *p), struct assay_error *err) {
  struct assay_error own = {0}; // the parser reads the status back, so there is always a record
  struct parser p = {.model = m, .err = err ? err : &own};
  struct build_locale locale;
  build_model_start(m);
  lex_start(&p.lexer, text, len);
  enum assay_status status = build_locale_start(&locale, p.err);
  if (!status) {
    status = parse(&p);
    build_locale_end(&locale);
  }
  return build_model_end(m, name, status, p.err);
}

enum assay_status onnx_parse_text(const char *text, size_t len, const char *name, struct model *m,
                                  struct assay_error *err) {
  return parse_all(text, len, name, m, parse_model, err);
}

enum assay_status onnx_parse_graph(const char *text, size_t len, const char *name, struct model *m,
                                   struct assay_error *err) {
  return parse_all(text, len, name, m, parse_bare_graph, err);
}
