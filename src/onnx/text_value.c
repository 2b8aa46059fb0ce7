// SPDX-License-Identifier: Apache-2.0
// Types, tensor literals and attributes of ONNX's textual syntax.
#include <stdio.h>
#include <string.h>

#include "onnx/text.h"

// Types other than tensors.
static bool other_type(const struct token *t) {
  static const char *const words[] = {"seq", "map", "optional", "sparse_tensor", "opaque"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (strlen(words[i]) == t->len && memcmp(words[i], t->start, t->len) == 0)
      return true;
  return false;
}

// Types are not reserved words: a value may be called "float" if it is quoted. Unsupported types count, so that they
// are refused as types and not taken for names.
bool text_at_type(const struct parser *p) {
  enum dtype ignored;
  const struct token *t = &p->token;
  return t->kind == TOKEN_IDENTIFIER && (dtype_by_name(t->start, t->len, &ignored) || other_type(t));
}

// A quoted dimension is a name too ("n + 1"): it is not evaluated.
static enum assay_status parse_dim(struct parser *p, struct dim *out) {
  *out = (struct dim){.value = -1};
  if (p->token.kind == TOKEN_INTEGER) {
    struct source_location at = p->token.at;
    TRY(text_int(p, "a dimension", &out->value));
    if (out->value < 0)
      return build_error(p->err, ASSAY_ERR_INVALID, &at, "a dimension cannot be negative; write ? when it is unknown");
    return ASSAY_OK;
  }
  if (text_is(p, '?'))
    return text_advance(p);
  struct source_location ignored;
  if (p->token.kind != TOKEN_IDENTIFIER && p->token.kind != TOKEN_STRING)
    return text_expected(p, "a dimension (a number, a name or ?)");
  return text_name(p, "a dimension", false, &out->symbol, &ignored);
}

enum assay_status text_type(struct parser *p, struct value_type *out) {
  const struct token *t = &p->token;
  struct source_location at = t->at;
  *out = (struct value_type){.dtype = DTYPE_UNDEFINED, .rank = 0};
  if (t->kind != TOKEN_IDENTIFIER || !dtype_by_name(t->start, t->len, &out->dtype) || dtype_bytes(out->dtype) == 0) {
    if (text_at_type(p))
      return build_error(p->err, ASSAY_ERR_UNSUPPORTED, &at, "type '%.*s' is not supported%s", (int)t->len, t->start,
                         other_type(t) ? ": values are tensors here" : "");
    return text_expected(p, "a type such as float[M, N]");
  }
  bool more;
  TRY(text_advance(p));
  TRY(text_accept(p, '[', &more));
  if (!more) // "float" is a scalar, "float[]" a tensor of unknown rank
    return ASSAY_OK;
  if (text_is(p, ']')) {
    out->rank = -1;
    return text_advance(p);
  }
  while (more) {
    if (out->rank == SHAPE_MAX_RANK)
      return build_error(p->err, ASSAY_ERR_LIMIT, &p->token.at, "more than %d dimensions are not supported",
                         SHAPE_MAX_RANK);
    TRY(parse_dim(p, &out->dims[out->rank++]));
    TRY(text_accept(p, ',', &more));
  }
  if (!text_is(p, ']'))
    return text_expected(p, "',' or ']' after a dimension");
  return text_advance(p);
}

// The bit patterns of an integer type as numbers: -128..127, 0..65535. The small floats are written as patterns too,
// as onnx.parser wants it.
static enum assay_status parse_small(struct parser *p, enum dtype t, unsigned char *to) {
  size_t bytes = dtype_bytes(t);
  bool is_signed = dtype_is_signed(t);
  int bits = t == DTYPE_BOOL ? 1 : dtype_bits(t);
  int64_t low = is_signed ? -((int64_t)1 << (bits - 1)) : 0, high = ((int64_t)1 << (bits - (is_signed ? 1 : 0))) - 1;
  int64_t v;
  if (p->token.kind != TOKEN_INTEGER && dtype_is_float(t))
    return text_expected(p, "an element of type %s as its bit pattern, an integer of 0..%lld", dtype_name(t),
                         (long long)high);
  if (p->token.kind != TOKEN_INTEGER)
    return text_expected(p, "an element of type %s, an integer of %lld..%lld", dtype_name(t), (long long)low,
                         (long long)high);
  TRY(lex_int(&p->token, &v, p->err));
  if (v < low || v > high) {
    char found[80];
    return build_error(p->err, ASSAY_ERR_INVALID, &p->token.at, "%s does not fit in %s (%lld..%lld)",
                       lex_describe(&p->token, found), dtype_name(t), (long long)low, (long long)high);
  }
  uint8_t u8 = (uint8_t)v;
  uint16_t u16 = (uint16_t)v;
  uint32_t u32 = (uint32_t)v;
  memcpy(to, bytes == 1 ? (void *)&u8 : bytes == 2 ? (void *)&u16 : (void *)&u32, bytes);
  return text_advance(p);
}

// One element in the tensor's own type.
// Elements go through unaligned copies: the buffer is bytes.
static enum assay_status parse_element(struct parser *p, enum dtype t, unsigned char *to) {
  const struct token *k = &p->token;
  if (t == DTYPE_FLOAT || t == DTYPE_DOUBLE) {
    float f;
    double d;
    if (k->kind != TOKEN_INTEGER && k->kind != TOKEN_REAL && !lex_is_special(k))
      return text_expected(p, "an element of type %s, a number", dtype_name(t));
    TRY(t == DTYPE_FLOAT ? lex_float(k, &f, p->err) : lex_double(k, &d, p->err));
    memcpy(to, t == DTYPE_FLOAT ? (void *)&f : (void *)&d, dtype_bytes(t));
    return text_advance(p);
  }
  if (t != DTYPE_INT64 && t != DTYPE_UINT64)
    return parse_small(p, t, to);
  int64_t i;
  uint64_t u;
  if (k->kind != TOKEN_INTEGER)
    return text_expected(p, "an element of type %s, an integer", dtype_name(t));
  TRY(t == DTYPE_INT64 ? lex_int(k, &i, p->err) : lex_uint(k, &u, p->err));
  memcpy(to, t == DTYPE_INT64 ? (void *)&i : (void *)&u, sizeof i);
  return text_advance(p);
}

// The type must be a whole one: numbers for all dimensions.
static enum assay_status concrete_shape(struct parser *p, const struct value_type *type,
                                        const struct source_location *at, struct shape *out) {
  if (type->rank < 0)
    return build_error(p->err, ASSAY_ERR_INVALID, at, "a tensor's value needs a type with all dimensions, as float[2]");
  *out = (struct shape){.rank = type->rank};
  for (int i = 0; i < type->rank; i++) {
    if (type->dims[i].value < 0)
      return build_error(p->err, ASSAY_ERR_INVALID, at, "a tensor's value needs numbers for dimensions, not '%.100s'",
                         type->dims[i].symbol ? type->dims[i].symbol : "?");
    out->dims[i] = type->dims[i].value;
  }
  struct assay_error inner = {0};
  if (shape_check(out, &inner))
    return build_error(p->err, inner.status, at, "%s", inner.message);
  return ASSAY_OK;
}

// The count is checked in both directions and reported where the first surplus element or the closing brace stands.
enum assay_status text_tensor(struct parser *p, const struct value_type *type, const struct source_location *at,
                              const char *name, const struct tensor **out) {
  struct arena *a = &p->model->arena;
  char shape[SHAPE_TEXT_BYTES];
  struct tensor *t = build_alloc(a, 1, sizeof *t, "a tensor", p->err);
  if (!t)
    return p->err->status;
  t->name = *name ? name : NULL;
  t->type.dtype = type->dtype;
  TRY(concrete_shape(p, type, at, &t->type.shape));
  if (text_is(p, '['))
    return build_error(p->err, ASSAY_ERR_UNSUPPORTED, &p->token.at,
                       "tensors in external files are not supported; store them in the model");
  TRY(text_expect(p, '{', "before the elements of a tensor"));
  // A literal has at least two characters an element, so the text bounds the memory whatever the shape claims.
  size_t bytes = dtype_bytes(t->type.dtype), rest = p->lexer.len - p->lexer.pos;
  int64_t count = shape_count(&t->type.shape), n = 0;
  size_t room = (uint64_t)count < rest / 2 + 2 ? (size_t)count : rest / 2 + 2;
  unsigned char *data = build_alloc(a, room + 1, bytes, "a tensor's elements", p->err);
  if (!data)
    return p->err->status;
  bool more = !text_is(p, '}');
  for (; more; n++) {
    if (n == count)
      return build_error(p->err, ASSAY_ERR_INVALID, &p->token.at, "%s%s has %lld elements; this is one too many",
                         dtype_name(t->type.dtype), t->type.shape.rank ? shape_text(&t->type.shape, shape) : "",
                         (long long)count);
    TRY(parse_element(p, t->type.dtype, data + (size_t)n * bytes));
    TRY(text_accept(p, ',', &more));
  }
  if (!text_is(p, '}'))
    return text_expected(p, "',' or '}' after an element");
  if (n != count)
    return build_error(p->err, ASSAY_ERR_INVALID, &p->token.at, "%s%s has %lld elements, but %lld are given",
                       dtype_name(t->type.dtype), t->type.shape.rank ? shape_text(&t->type.shape, shape) : "",
                       (long long)count, (long long)n);
  t->data = data;
  *out = t;
  return text_advance(p);
}

// The annotation after an attribute's name.
static enum assay_status parse_annotation(struct parser *p, enum attr_type *out) {
  static const char *const unsupported[] = {"sparse_tensor", "type_proto",     "tensors",
                                            "graphs",        "sparse_tensors", "type_protos"};
  struct source_location at = p->token.at;
  const char *word;
  TRY(text_word(p, "an attribute type such as float or ints", &word));
  for (int t = ATTR_FLOAT; t <= ATTR_STRINGS; t++)
    if (strcmp(word, attr_type_name((enum attr_type)t)) == 0) {
      *out = (enum attr_type)t;
      return ASSAY_OK;
    }
  for (size_t i = 0; i < sizeof unsupported / sizeof unsupported[0]; i++)
    if (strcmp(word, unsupported[i]) == 0)
      return build_error(p->err, ASSAY_ERR_UNSUPPORTED, &at, "attributes of type %s are not supported", word);
  return build_error(p->err, ASSAY_ERR_SYNTAX, &at,
                     "expected an attribute type (float, int, string, tensor, floats, ints or strings), found '%.40s'",
                     word);
}

// The values of one attribute while they are read.
struct scalars {
  enum attr_type type; // ATTR_FLOAT, ATTR_INT or ATTR_STRING; 0 before the first
  size_t n, capacity;
  double *floats;
  int64_t *ints;
  const char **strings;
};

// The three arrays share one capacity, since only one of them is ever used.
static enum assay_status push_scalar(struct parser *p, struct scalars *s) {
  struct arena *a = &p->model->arena;
  static const char what[] = "an attribute";
  if (s->type == ATTR_FLOAT) {
    float f; // attributes are single precision in ONNX, also when the text has more digits
    TRY(build_grow(a, &s->floats, s->n, &s->capacity, sizeof *s->floats, what, p->err));
    TRY(lex_float(&p->token, &f, p->err));
    s->floats[s->n++] = (double)f;
    return text_advance(p);
  }
  if (s->type == ATTR_INT) {
    TRY(build_grow(a, &s->ints, s->n, &s->capacity, sizeof *s->ints, what, p->err));
    TRY(lex_int(&p->token, &s->ints[s->n++], p->err));
    return text_advance(p);
  }
  TRY(build_grow(a, &s->strings, s->n, &s->capacity, sizeof *s->strings, what, p->err));
  return text_string(p, "a string", &s->strings[s->n++]);
}

// One number or string. An integer counts as a float where a float is wanted.
static enum assay_status parse_scalar(struct parser *p, struct scalars *s) {
  enum attr_type found;
  switch (p->token.kind) {
  case TOKEN_INTEGER:
    found = s->type == ATTR_FLOAT ? ATTR_FLOAT : ATTR_INT;
    break;
  case TOKEN_REAL:
    found = ATTR_FLOAT;
    break;
  case TOKEN_STRING:
    found = ATTR_STRING;
    break;
  default:
    if (!lex_is_special(&p->token))
      return text_expected(p, "a number or a string");
    found = ATTR_FLOAT;
  }
  if (!s->type)
    s->type = found;
  if (s->type != found)
    return text_expected(p, "a value of type %s", attr_type_name(s->type));
  return push_scalar(p, s);
}

static void finish_scalars(const struct scalars *s, bool list, struct attr *out) {
  out->type = list ? s->type + (ATTR_FLOATS - ATTR_FLOAT) : s->type;
  out->count = s->n;
  out->floats = s->floats;
  out->ints = s->ints;
  out->strings = s->strings;
}

// Without an annotation the first value decides the type of the list.
static enum assay_status parse_attr_list(struct parser *p, enum attr_type annotated, struct attr *out) {
  struct scalars s = {.type = annotated ? annotated - (ATTR_FLOATS - ATTR_FLOAT) : 0};
  if (annotated && annotated < ATTR_FLOATS)
    return text_expected(p, "one value of type %s", attr_type_name(annotated));
  TRY(text_advance(p));
  if (text_is(p, ']') && !annotated)
    return build_error(p->err, ASSAY_ERR_SYNTAX, &p->token.at,
                       "an empty list needs its type; write it like '%.100s: ints = []'", out->name);
  bool more = !text_is(p, ']');
  while (more) {
    TRY(parse_scalar(p, &s));
    TRY(text_accept(p, ',', &more));
  }
  finish_scalars(&s, true, out);
  if (!text_is(p, ']'))
    return text_expected(p, "',' or ']' after a value of '%.100s'", out->name);
  return text_advance(p);
}

// "float[2] {1, 2}", with an optional name and an optional '='.
static enum assay_status parse_attr_tensor(struct parser *p, struct attr *out) {
  struct value_type type;
  struct source_location at = p->token.at, ignored;
  const char *name;
  bool assigned;
  TRY(text_type(p, &type));
  TRY(text_name(p, "a name", true, &name, &ignored));
  TRY(text_accept(p, '=', &assigned));
  out->type = ATTR_TENSOR;
  out->count = 1;
  return text_tensor(p, &type, &at, name, &out->tensor);
}

// A value is a list, a reference, a tensor, a number or a string; a word that is none of these begins a graph.
enum assay_status text_attr_value(struct parser *p, const char *name, const struct source_location *at,
                                  struct attr *out) {
  enum attr_type annotated = 0;
  bool present;
  *out = (struct attr){.name = name, .at = *at};
  TRY(text_accept(p, ':', &present));
  if (present)
    TRY(parse_annotation(p, &annotated));
  TRY(text_expect(p, '=', "before the attribute's value"));
  TRY(text_accept(p, '@', &present));
  if (present) {
    struct source_location ignored;
    out->type = annotated;
    return text_name(p, "the name of the function's attribute", false, &out->ref, &ignored);
  }
  if (text_is(p, '['))
    return parse_attr_list(p, annotated, out);
  bool special = lex_is_special(&p->token);
  if (p->token.kind == TOKEN_IDENTIFIER && !special && (annotated == ATTR_GRAPH || !text_at_type(p)))
    return build_error(p->err, ASSAY_ERR_UNSUPPORTED, &p->token.at,
                       "'%.100s' is a graph; graphs as attributes (If, Loop, Scan) are not supported", name);
  bool tensor = text_at_type(p);
  if (annotated > ATTR_STRING && (tensor ? annotated != ATTR_TENSOR : true))
    return text_expected(p, "a value of type %s", attr_type_name(annotated));
  if (tensor && annotated && annotated != ATTR_TENSOR)
    return text_expected(p, "a value of type %s", attr_type_name(annotated));
  if (tensor)
    return parse_attr_tensor(p, out);
  struct scalars s = {.type = annotated};
  TRY(parse_scalar(p, &s));
  finish_scalars(&s, false, out);
  return ASSAY_OK;
}

enum assay_status text_attrs(struct parser *p, struct attr **attrs, int *n) {
  size_t capacity = 0;
  bool more;
  TRY(text_accept(p, '<', &more));
  if (!more)
    return ASSAY_OK;
  while (more) {
    const char *name;
    struct source_location at;
    TRY(text_name(p, "the name of an attribute", false, &name, &at));
    for (int i = 0; i < *n; i++)
      if (strcmp((*attrs)[i].name, name) == 0)
        return build_error(p->err, ASSAY_ERR_INVALID, &at, "attribute '%.200s' is given twice", name);
    if (*n >= BUILD_MAX_LIST)
      return build_error(p->err, ASSAY_ERR_LIMIT, &at, "a node has more than %d attributes", BUILD_MAX_LIST);
    TRY(build_grow(&p->model->arena, attrs, (size_t)*n, &capacity, sizeof **attrs, "attributes", p->err));
    TRY(text_attr_value(p, name, &at, &(*attrs)[*n]));
    ++*n;
    TRY(text_accept(p, ',', &more));
  }
  if (!text_is(p, '>'))
    return text_expected(p, "',' or '>' after an attribute");
  return text_advance(p);
}
