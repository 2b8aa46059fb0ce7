// SPDX-License-Identifier: Apache-2.0
// What the text of a PyTorch module is written with: numbers, names and templates.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/pytorch.h"

void pytorch_put_float(struct pytorch_writer *w, double x) {
  char text[32];
  if (!isfinite(x)) {
    buf_printf(w->out, "float(\"%s\")", isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
    return;
  }
  for (int digits = 1; digits <= 9; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, x);
    if ((float)strtod(text, NULL) == (float)x)
      break;
  }
  buf_puts(w->out, text);
}

void pytorch_miss(struct pytorch_writer *w, const char *what) {
  w->complete = false;
  if (!w->missing)
    return;
  const char *all = buf_str(w->missing);
  size_t n = strlen(what);
  for (const char *p = strstr(all, what); p; p = strstr(p + 1, what)) // as a whole entry
    if ((p == all || p[-1] == ' ') && (p[n] == ',' || p[n] == '\0'))
      return;
  buf_printf(w->missing, "%s%s", *all ? ", " : "", what);
}

void pytorch_put_escaped(struct buf *out, const char *text) {
  for (const char *p = text; *p; p++) {
    unsigned char c = (unsigned char)*p;
    if (c == '"' || c == '\\')
      buf_printf(out, "\\%c", c);
    else if (c < 0x20 || c == 0x7f)
      buf_printf(out, "\\x%02x", c);
    else
      buf_append(out, p, 1);
  }
}

void pytorch_put_name(struct pytorch_writer *w, int v) {
  if (w->names) {
    buf_puts(w->out, w->names[v]);
    return;
  }
  for (const char *p = w->g->values[v].name; *p; p++)
    buf_printf(w->out, "%c",
               (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ? *p : '_');
}

static void put_number(struct pytorch_writer *w, const struct array *a, int64_t i) {
  if (dtype_is_float(a->dtype))
    pytorch_put_float(w, a->f64[i]);
  else if (a->dtype == DTYPE_BOOL)
    buf_puts(w->out, a->i64[i] ? "True" : "False");
  else
    buf_printf(w->out, "%lld", (long long)a->i64[i]);
}

bool pytorch_known(const struct pytorch_writer *w, int v) {
  return w->fixed && w->values[v].bits;
}

bool pytorch_is_short(const struct pytorch_writer *w, int v) {
  enum { MOST = 64 };
  return pytorch_rank(w, v) <= 1 && shape_count(&w->values[v].shape) <= MOST;
}

// With a point where it is a float: 1.0 and not 1, which would make a tensor of integers.
static void put_element(struct pytorch_writer *w, const struct array *a, int64_t i) {
  size_t before = w->out->len;
  put_number(w, a, i);
  if (dtype_is_float(a->dtype) && isfinite(a->f64[i]) && !strpbrk(buf_str(w->out) + before, ".e"))
    buf_puts(w->out, ".0");
}

static bool all_alike(const struct array *a, int64_t count) {
  bool alike = count > 1;
  for (int64_t i = 1; i < count && alike; i++)
    alike = a->bits[i] == a->bits[0];
  return alike;
}

void pytorch_put_known(struct pytorch_writer *w, int v) {
  const struct array *a = &w->values[v];
  int64_t count = shape_count(&a->shape);
  if (!a->bits || !pytorch_is_short(w, v)) {
    pytorch_miss(w, "a large constant");
    buf_puts(w->out, "None  # a large constant");
    return;
  }
  if (all_alike(a, count)) {
    buf_puts(w->out, "torch.full(");
    pytorch_put_ints(w, a->shape.dims, (size_t)a->shape.rank);
    buf_puts(w->out, ", ");
    put_element(w, a, 0);
    buf_puts(w->out, ")");
    return;
  }
  buf_puts(w->out, a->shape.rank ? "torch.tensor([" : "torch.tensor(");
  for (int64_t i = 0; i < count; i++) {
    buf_puts(w->out, i ? ", " : "");
    put_element(w, a, i);
  }
  buf_puts(w->out, a->shape.rank ? "])" : ")");
}

void pytorch_put_value(struct pytorch_writer *w, int v) {
  const struct tensor *t = w->g->values[v].constant;
  if (t && t->type.shape.rank == 0) {
    double x = 0;
    int64_t i = 0;
    if (dtype_is_float(t->type.dtype)) {
      dtype_to_f64(t->type.dtype, t->data, 1, &x);
      pytorch_put_float(w, x);
    } else {
      dtype_to_i64(t->type.dtype, t->data, 1, &i);
      buf_printf(w->out, "%lld", (long long)i);
    }
  } else if (w->numbers && pytorch_known(w, v) && shape_count(&w->values[v].shape) == 1) {
    put_number(w, &w->values[v], 0);
  } else {
    pytorch_put_name(w, v);
    if (w->named)
      w->named[v] = true;
  }
}

static bool is_number(const struct pytorch_writer *w, int v) {
  const struct tensor *t = w->g->values[v].constant;
  return t && t->type.shape.rank == 0;
}

static void put_number_tensor(struct pytorch_writer *w, int v) {
  enum dtype t = w->g->values[v].constant->type.dtype;
  buf_puts(w->out, "torch.tensor(");
  pytorch_put_value(w, v);
  buf_printf(w->out, ", dtype=torch.%s)", pytorch_dtype(t));
}

void pytorch_put_input(struct pytorch_writer *w, const struct node *n, int i) {
  if (!node_has_input(n, i))
    buf_puts(w->out, "None");
  else if (i == 0 && !w->numbers && is_number(w, n->inputs[0]))
    put_number_tensor(w, n->inputs[0]);
  else
    pytorch_put_value(w, n->inputs[i]);
}

int pytorch_constant_ints(const struct pytorch_writer *w, const struct node *n, int input, int64_t *out, int capacity) {
  int v = node_has_input(n, input) ? n->inputs[input] : -1;
  const struct value *value = v < 0 ? NULL : &w->g->values[v];
  // What a node makes of no inputs is a constant of the graph, too.
  bool made = value && value->producer >= 0 && (w->fixed || w->g->nodes[value->producer].op->max_in == 0);
  if (!value || !(made ? w->values[v].bits != NULL : value->constant != NULL) || !dtype_is_integer(w->values[v].dtype))
    return -1;
  int64_t count = shape_count(&w->values[v].shape);
  if (count > capacity)
    return -1;
  if (made)
    memcpy(out, w->values[v].i64, (size_t)count * sizeof *out);
  else
    dtype_to_i64(value->constant->type.dtype, value->constant->data, count, out);
  return (int)count;
}

void pytorch_put_ints(struct pytorch_writer *w, const int64_t *v, size_t n) {
  buf_puts(w->out, "(");
  for (size_t i = 0; i < n; i++)
    buf_printf(w->out, "%lld%s", (long long)v[i], n == 1 ? "," : i + 1 < n ? ", " : "");
  buf_puts(w->out, ")");
}

static void put_attr(struct pytorch_writer *w, const struct node *n, const char *name) {
  const struct attr *a = node_attr(n, name);
  if (!a) {
    for (const struct op_attr *d = n->op->attrs; d && d->name; d++)
      if (strcmp(d->name, name) == 0)
        buf_printf(w->out, d->fallback && d->type == ATTR_STRING ? "\"%s\"" : "%s", d->fallback ? d->fallback : "None");
    return;
  }
  if (a->type == ATTR_INT)
    buf_printf(w->out, "%lld", (long long)a->ints[0]);
  else if (a->type == ATTR_FLOAT)
    pytorch_put_float(w, a->floats[0]);
  else if (a->type == ATTR_STRING) {
    buf_puts(w->out, "\"");
    pytorch_put_escaped(w->out, a->strings[0]);
    buf_puts(w->out, "\"");
  } else
    pytorch_put_ints(w, a->ints, a->count);
}

void pytorch_put_template(struct pytorch_writer *w, const struct node *n, const char *text) {
  for (const char *p = text; *p; p++) {
    if (*p == '$' && p[1] == '*') {
      for (int i = 0; i < n->n_inputs; i++) {
        buf_puts(w->out, i ? ", " : "");
        pytorch_put_input(w, n, i);
      }
      p++;
    } else if (*p == '$') {
      pytorch_put_input(w, n, p[1] - '0');
      p++;
    } else if (*p == '{') {
      char name[64];
      size_t len = strcspn(p, "}") - 1;
      snprintf(name, sizeof name, "%.*s", (int)len, p + 1);
      put_attr(w, n, name);
      p += len + 1;
    } else {
      buf_append(w->out, p, 1);
    }
  }
}

int pytorch_int_at(const struct node *n, const char *name, size_t i, int fallback) {
  const struct attr *a = node_attr(n, name);
  return a && i < a->count ? (int)a->ints[i] : fallback;
}

int pytorch_rank(const struct pytorch_writer *w, int v) {
  return w->values[v].shape.rank;
}
