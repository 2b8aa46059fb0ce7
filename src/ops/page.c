// SPDX-License-Identifier: Apache-2.0
// The operator page: Markdown made from the rows and nothing else, so that it cannot disagree with the program.
#include <string.h>

#include "ops/op.h"

// "1 input", "2 to 3 inputs", "1 or more inputs".
static void put_arity(struct buf *b, int low, int high, const char *what) {
  if (high >= OP_VARIADIC)
    buf_printf(b, "%d or more %ss", low, what);
  else if (low == high)
    buf_printf(b, "%d %s%s", low, what, low == 1 ? "" : "s");
  else
    buf_printf(b, "%d to %d %ss", low, high, what);
}

static void put_errors(struct buf *b, const struct op_errors *e) {
  if (e->rounding == OP_EXACT)
    buf_puts(b, "; exact");
  if (e->kink == OP_KINK)
    buf_puts(b, "; has a kink");
  if (e->kink == OP_STEEP)
    buf_puts(b, "; steep");
  if (e->sum == OP_SUM_OF_MANY)
    buf_puts(b, "; adds many terms");
}

static void put_attrs(struct buf *b, const struct op_attr *attrs) {
  for (const struct op_attr *a = attrs; a && a->name; a++) {
    buf_printf(b, "- `%s`: %s", a->name, attr_type_name(a->type));
    if (a->required)
      buf_puts(b, ", required");
    else if (a->fallback)
      buf_printf(b, ", default %s", a->fallback);
    buf_puts(b, "\n");
  }
  if (attrs && attrs->name)
    buf_puts(b, "\n");
}

static void put_free(struct buf *b, unsigned free) {
  if (free)
    buf_printf(b, "Not unique: output");
  const char *before = (free & (free - 1)) ? "s " : " ";
  for (int i = 0; free >> i; i++)
    if (free >> i & 1) {
      buf_printf(b, "%s%d", before, i);
      before = ", ";
    }
  if (free)
    buf_puts(b, ". A task whose outputs depend on that needs a "
                "[check](writing-tasks.md#answers-that-are-not-unique).\n\n");
}

static void put_row(struct buf *b, const struct op_def *d) {
  buf_printf(b, "*Since version %d; %s; ", d->since, op_class_name(d->class));
  put_arity(b, d->min_in, d->max_in, "input");
  buf_puts(b, ", ");
  put_arity(b, d->min_out, d->max_out, "output");
  put_errors(b, &d->errors);
  if (d->stores_inside)
    buf_puts(b, "; several operators to PyTorch");
  buf_puts(b, ".*\n\n");
  buf_printf(b, "%s\n\n", d->doc);
  put_free(b, d->free);
  if (d->expr)
    buf_printf(b, "Expression: `%s`\n\n", d->expr);
  if (d->pytorch.text && !d->pytorch.write)
    buf_printf(b, "In PyTorch: `%s`\n\n", d->pytorch.text);
  put_attrs(b, d->attrs);
  if (d->example)
    buf_printf(b, "```\n%s\n```\n\n", d->example);
}

static bool same_operator(const struct op_def *a, const struct op_def *b) {
  return strcmp(a->name, b->name) == 0 && strcmp(a->domain, b->domain) == 0;
}

// All rows of the operator that row r is the first of; nothing if an earlier row was.
static void put_operator(struct buf *b, const struct op_family *f, int r) {
  for (int i = 0; i < r; i++)
    if (same_operator(&f->rows[i], &f->rows[r]))
      return;
  const struct op_def *d = &f->rows[r];
  buf_printf(b, "### %s%s%s\n\n", d->domain, d->domain[0] ? "." : "", d->name);
  for (int i = r; i < f->n_rows; i++)
    if (same_operator(&f->rows[i], d))
      put_row(b, &f->rows[i]);
}

// The number of different operators of a domain; an operator lives in one family.
static int count_operators(const struct op_family *const *families, int n, const char *domain) {
  int count = 0;
  for (int f = 0; f < n; f++)
    for (int r = 0; r < families[f]->n_rows; r++) {
      bool first = strcmp(families[f]->rows[r].domain, domain) == 0;
      for (int i = 0; i < r && first; i++)
        first = !same_operator(&families[f]->rows[i], &families[f]->rows[r]);
      count += first;
    }
  return count;
}

enum assay_status op_page(struct buf *out, struct assay_error *err) {
  int n;
  const struct op_family *const *families = op_families(&n);
  buf_printf(
      out,
      "# Operators\n\n"
      "This page is generated from the operator table. It lists %d of ONNX's operators (up to opset %d) and %d "
      "of the domain `ai.assay`.\n\n"
      "Standard operators mean what ONNX says; the text here is a reminder. A row holds from its version on, until "
      "the operator's next row. An expression says what one output element is, in terms of the inputs x, y, z "
      "(broadcast) and the attributes. The oracle computes it in this form, so the form decides how much error is "
      "allowed. Examples are complete graphs in ONNX's textual syntax.\n\n"
      "Four properties of an operator also decide how much error is allowed. An *exact* operator rounds nothing. An "
      "operator that *has a kink*, such as Relu, may hide the errors before it on one side of the kink. A *steep* "
      "one, such as Exp, turns an error of one before it into a factor. One that *adds many terms* may do so in any "
      "order.\n\n"
      "In PyTorch's form, $0 is the first input and {name} is an attribute. Operators without this line either need "
      "code for it (Conv) or have no translation.\n\n",
      count_operators(families, n, ""), OP_NEWEST_OPSET, count_operators(families, n, "ai.assay"));
  for (int f = 0; f < n; f++)
    buf_printf(out, "- [%s](#family-%d)\n", families[f]->name, f + 1);
  for (int f = 0; f < n; f++) {
    buf_printf(out, "\n<a id=\"family-%d\"></a>\n\n## %s\n\n", f + 1, families[f]->name);
    for (int r = 0; r < families[f]->n_rows; r++)
      put_operator(out, families[f], r);
  }
  return buf_status(out, err);
}
