// SPDX-License-Identifier: Apache-2.0
// Models as text that onnx.parser and onnx/text.c read. Numbers are printed with as many digits as it takes to read
// the same bits again, and no more.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/build.h"

// What the lexer reads as one token without quotes.
static bool is_identifier(const char *s) {
  if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_'))
    return false;
  for (; *s; s++)
    if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_' || (*s >= '0' && *s <= '9')))
      return false;
  return true;
}

// Only these two need a backslash; newlines and other bytes stand as they are.
static void print_quoted(struct buf *out, const char *s) {
  buf_append(out, "\"", 1);
  for (; *s; s++) {
    if (*s == '"' || *s == '\\')
      buf_append(out, "\\", 1);
    buf_append(out, s, 1);
  }
  buf_append(out, "\"", 1);
}

// A name that reads as a type would be taken for one before another name: quote it.
static bool reads_as_type(const char *s) {
  static const char *const words[] = {"seq", "map", "optional", "sparse_tensor", "opaque"};
  enum dtype ignored;
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (strcmp(words[i], s) == 0)
      return true;
  return dtype_by_name(s, strlen(s), &ignored);
}

static void print_name(struct buf *out, const char *s) {
  if (is_identifier(s) && !reads_as_type(s))
    buf_puts(out, s);
  else
    print_quoted(out, s);
}

// "%.Ng" with the least N that reads back as the same float (9 digits always do) or double (17).
static void print_real(struct buf *out, double v, bool single) {
  char text[40];
  if (!isfinite(v)) {
    buf_puts(out, isnan(v) ? (signbit(v) ? "-nan" : "nan") : v < 0 ? "-inf" : "inf");
    return;
  }
  for (int digits = single ? 6 : 15;; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, v);
    double again = single ? (double)strtof(text, NULL) : strtod(text, NULL);
    if (again == v || digits == 17)
      break;
  }
  buf_puts(out, text);
  if (!strpbrk(text, ".e")) // without it, an attribute would read as an integer
    buf_puts(out, ".0");
}

static void print_element(struct buf *out, const struct tensor *t, int64_t i) {
  const unsigned char *at = (const unsigned char *)t->data + (size_t)i * dtype_bytes(t->type.dtype);
  uint8_t u8;
  uint16_t u16;
  uint64_t u64;
  double real;
  int64_t integer;
  if (t->type.dtype == DTYPE_FLOAT || t->type.dtype == DTYPE_DOUBLE) {
    dtype_to_f64(t->type.dtype, at, 1, &real);
    print_real(out, real, t->type.dtype == DTYPE_FLOAT);
  } else if (t->type.dtype == DTYPE_UINT64) {
    memcpy(&u64, at, sizeof u64);
    buf_printf(out, "%llu", (unsigned long long)u64);
  } else if (!dtype_is_float(t->type.dtype)) {
    dtype_to_i64(t->type.dtype, at, 1, &integer);
    buf_printf(out, "%lld", (long long)integer);
  } else if (dtype_bytes(t->type.dtype) == 2) { // the small floats as their bit patterns, as onnx.parser wants them
    memcpy(&u16, at, sizeof u16);
    buf_printf(out, "%u", (unsigned)u16);
  } else {
    memcpy(&u8, at, sizeof u8);
    buf_printf(out, "%u", (unsigned)u8);
  }
}

// Printed whole, however large: half a tensor would not read back.
static void print_tensor(struct buf *out, const struct tensor *t, const char *name, const char *assign) {
  buf_puts(out, dtype_name(t->type.dtype));
  for (int i = 0; i < t->type.shape.rank; i++)
    buf_printf(out, "%s%lld%s", i ? "," : "[", (long long)t->type.shape.dims[i], i + 1 < t->type.shape.rank ? "" : "]");
  if (name && *name) {
    buf_puts(out, " ");
    print_name(out, name);
  }
  buf_puts(out, assign);
  buf_puts(out, "{");
  int64_t n = shape_count(&t->type.shape);
  for (int64_t i = 0; i < n && !out->failed; i++) {
    if (i)
      buf_puts(out, ", ");
    print_element(out, t, i);
  }
  buf_puts(out, "}");
}

// "float x" is a scalar, "float[] x" has an unknown rank, "float[?] x" one unknown dimension.
static void print_value(struct buf *out, const struct value *v, bool typed) {
  if (typed && v->dtype != DTYPE_UNDEFINED) {
    buf_puts(out, dtype_name(v->dtype));
    if (v->rank < 0)
      buf_puts(out, "[]");
    for (int i = 0; i < v->rank; i++) {
      buf_puts(out, i ? ", " : "[");
      if (v->dims[i].symbol && is_identifier(v->dims[i].symbol))
        buf_puts(out, v->dims[i].symbol);
      else if (v->dims[i].symbol)
        print_quoted(out, v->dims[i].symbol);
      else if (v->dims[i].value >= 0)
        buf_printf(out, "%lld", (long long)v->dims[i].value);
      else
        buf_puts(out, "?");
    }
    buf_puts(out, v->rank > 0 ? "] " : " ");
  }
  print_name(out, v->name);
}

static void print_values(struct buf *out, const struct graph *g, const int *indices, int n, bool typed) {
  buf_puts(out, "(");
  for (int i = 0; i < n; i++) {
    if (i)
      buf_puts(out, ", ");
    print_value(out, &g->values[indices[i]], typed);
  }
  buf_puts(out, ")");
}

static void print_scalar(struct buf *out, const struct attr *a, size_t i) {
  if (a->type == ATTR_FLOAT || a->type == ATTR_FLOATS)
    print_real(out, a->floats[i], true);
  else if (a->type == ATTR_INT || a->type == ATTR_INTS)
    buf_printf(out, "%lld", (long long)a->ints[i]);
  else
    print_quoted(out, a->strings[i]);
}

// Types are written only where the value does not show them: references and empty lists. Numbers with a point are
// floats, so `alpha = 1.0` needs none.
static void print_attr(struct buf *out, const struct attr *a) {
  print_name(out, a->name);
  bool list = a->type >= ATTR_FLOATS;
  if ((a->ref && a->type) || (list && a->count == 0))
    buf_printf(out, ": %s", attr_type_name(a->type));
  buf_puts(out, " = ");
  if (a->ref) {
    buf_puts(out, "@");
    print_name(out, a->ref);
    return;
  }
  if (a->type == ATTR_TENSOR) {
    print_tensor(out, a->tensor, a->tensor->name, " ");
    return;
  }
  buf_puts(out, list ? "[" : "");
  for (size_t i = 0; i < a->count; i++) {
    if (i)
      buf_puts(out, ", ");
    print_scalar(out, a, i);
  }
  buf_puts(out, list ? "]" : "");
}

// The domain is a dotted word in the syntax, so its parts are quoted one by one where they are not identifiers.
static void print_operator(struct buf *out, const struct node *n) {
  for (const char *part = n->domain; *part;) {
    size_t len = strcspn(part, ".");
    char word[ONNX_MAX_NAME_BYTES + 1];
    snprintf(word, sizeof word, "%.*s", (int)(len < ONNX_MAX_NAME_BYTES ? len : ONNX_MAX_NAME_BYTES), part);
    if (is_identifier(word))
      buf_puts(out, word);
    else
      print_quoted(out, word);
    buf_puts(out, ".");
    part += len + (part[len] == '.');
  }
  if (is_identifier(n->op_type))
    buf_puts(out, n->op_type);
  else
    print_quoted(out, n->op_type);
}

// A list of names. The syntax cannot show that the last one is left out, so "" stands for it.
static void print_operands(struct buf *out, const struct graph *g, const int *indices, int n) {
  for (int i = 0; i < n; i++) {
    if (i)
      buf_puts(out, ", ");
    if (indices[i] < 0)
      buf_puts(out, "\"\"");
    else
      print_name(out, g->values[indices[i]].name);
  }
}

static void print_node(struct buf *out, const struct graph *g, const struct node *n) {
  buf_puts(out, "  ");
  if (*n->name) {
    buf_puts(out, "[");
    print_name(out, n->name);
    buf_puts(out, "] ");
  }
  print_operands(out, g, n->outputs, n->n_outputs);
  buf_puts(out, " = ");
  print_operator(out, n);
  for (int i = 0; i < n->n_attrs; i++) {
    buf_puts(out, i ? ", " : " <");
    print_attr(out, &n->attrs[i]);
  }
  buf_puts(out, n->n_attrs ? "> (" : "(");
  print_operands(out, g, n->inputs, n->n_inputs);
  buf_puts(out, ")\n");
}

// Whether the lists of inputs and outputs show the value's type.
static enum assay_status mark_listed(const struct graph *g, struct arena *scratch, const unsigned char **out,
                                     struct assay_error *err) {
  unsigned char *listed = build_alloc(scratch, (size_t)g->n_values + 1, 1, "a graph's text", err);
  if (!listed)
    return ASSAY_ERR_NOMEM;
  for (int i = 0; i < g->n_inputs; i++)
    listed[g->inputs[i]] = 1;
  for (int i = 0; i < g->n_outputs; i++)
    listed[g->outputs[i]] = 1;
  *out = listed;
  return ASSAY_OK;
}

// Initializers and types share one list, which is left out when it would be empty.
static void print_constants(struct buf *out, const struct graph *g, const unsigned char *listed) {
  const char *separator = "\n<\n  ";
  for (int i = 0; i < g->n_values; i++) {
    const struct value *v = &g->values[i];
    if (!v->constant && (listed[i] || v->dtype == DTYPE_UNDEFINED))
      continue;
    buf_puts(out, separator);
    if (v->constant)
      print_tensor(out, v->constant, v->name, " = ");
    else
      print_value(out, v, true);
    separator = ",\n  ";
  }
  if (separator[0] == ',')
    buf_puts(out, "\n>");
}

static void print_body(struct buf *out, const struct graph *g, bool typed, const unsigned char *listed) {
  print_values(out, g, g->inputs, g->n_inputs, typed);
  buf_puts(out, " => ");
  print_values(out, g, g->outputs, g->n_outputs, typed);
  if (typed)
    print_constants(out, g, listed);
  buf_puts(out, "\n{\n");
  for (int i = 0; i < g->n_nodes; i++)
    print_node(out, g, &g->nodes[i]);
  buf_puts(out, "}\n");
}

static void print_opsets(struct buf *out, const struct opset_import *o, int n) {
  buf_puts(out, "opset_import: [");
  for (int i = 0; i < n; i++) {
    buf_puts(out, i ? ", " : "");
    print_quoted(out, o[i].domain);
    buf_printf(out, " : %d", o[i].version);
  }
  buf_puts(out, "]");
}

static void print_string_key(struct buf *out, const char *key, const char *value) {
  if (!value)
    return;
  buf_printf(out, ",\n  %s: ", key);
  print_quoted(out, value);
}

// One metadata entry a line: in task files they are what people edit.
static void print_header(struct buf *out, const struct model *m) {
  buf_printf(out, "<\n  ir_version: %lld,\n  ", (long long)m->ir_version);
  print_opsets(out, m->opsets, m->n_opsets);
  print_string_key(out, "producer_name", m->producer_name);
  print_string_key(out, "producer_version", m->producer_version);
  print_string_key(out, "domain", m->domain);
  if (m->model_version)
    buf_printf(out, ",\n  model_version: %lld", (long long)m->model_version);
  print_string_key(out, "doc_string", m->doc_string);
  for (int i = 0; i < m->n_properties; i++) {
    buf_puts(out, i ? ",\n    " : ",\n  metadata_props: [\n    ");
    print_quoted(out, m->properties[i].key);
    buf_puts(out, " : ");
    print_quoted(out, m->properties[i].value);
  }
  buf_puts(out, m->n_properties ? "\n  ]\n>\n" : "\n>\n");
}

// Documentation strings and types inside functions are not kept by the readers, so there are none to print.
static void print_function(struct buf *out, const struct function *f) {
  buf_puts(out, "\n<\n  domain: ");
  print_quoted(out, f->domain);
  buf_puts(out, ",\n  ");
  print_opsets(out, f->opsets, f->n_opsets);
  buf_puts(out, "\n>\n");
  print_name(out, f->name);
  for (int i = 0; i < f->n_attrs; i++) {
    buf_puts(out, i ? ", " : " <");
    print_name(out, f->attr_names[i]);
  }
  for (int i = 0; i < f->n_defaults; i++) {
    buf_puts(out, i || f->n_attrs ? ", " : " <");
    print_attr(out, &f->defaults[i]);
  }
  buf_puts(out, f->n_attrs || f->n_defaults ? "> " : " ");
  print_body(out, &f->body, false, NULL);
}

enum assay_status onnx_print_text(const struct model *m, struct buf *out, struct assay_error *err) {
  struct arena scratch = {0};
  struct build_locale locale;
  const unsigned char *listed;
  TRY(build_locale_start(&locale, err));
  enum assay_status status = mark_listed(&m->graph, &scratch, &listed, err);
  if (!status) {
    print_header(out, m);
    print_name(out, m->graph.name);
    buf_puts(out, " ");
    print_body(out, &m->graph, true, listed);
    for (int i = 0; i < m->n_functions; i++)
      print_function(out, &m->functions[i]);
    status = buf_status(out, err);
  }
  arena_release(&scratch);
  build_locale_end(&locale);
  return status;
}
