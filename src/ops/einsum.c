// SPDX-License-Identifier: Apache-2.0
#include "ops/einsum.h"

#include <ctype.h>
#include <string.h>

#include "base/parallel.h"
#include "ops/gemm.h"
#include "ops/loops.h"

static int letter_label(char c) {
  return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? c - 'A' + 26 : -1;
}

// One term of the equation. `dims` is how many dimensions it must have, or -1 when that is not known (the output); an
// ellipsis then has `ellipsis` dimensions.
struct term {
  const char *text;
  size_t len;
  int dims, ellipsis;
};

// The labels of one term; an ellipsis becomes a label for each of its dimensions.
static enum assay_status parse_term(const struct node *node, const struct term *term, int *labels, int *count,
                                    struct assay_error *err) {
  const char *text = term->text;
  size_t len = term->len;
  int dims = term->dims, ellipsis = term->ellipsis, letters = 0, n = 0;
  bool has_ellipsis = false;
  for (size_t i = 0; i < len; i++)
    letters += letter_label(text[i]) >= 0;
  if (dims >= 0)
    ellipsis = dims - letters;
  for (size_t i = 0; i < len; i++) {
    int label = letter_label(text[i]);
    bool dots = label < 0 && len - i >= 3 && memcmp(text + i, "...", 3) == 0;
    if (n + (dots ? ellipsis : label >= 0) > SHAPE_MAX_RANK)
      return op_invalid(node, err, "term \"%.*s\" has more than %d dimensions", (int)len, text, SHAPE_MAX_RANK);
    if (label >= 0) {
      labels[n++] = label;
    } else if (dots && !has_ellipsis && ellipsis >= 0) {
      has_ellipsis = true;
      for (int d = 0; d < ellipsis; d++)
        labels[n++] = EINSUM_LABELS - ellipsis + d;
      i += 2;
    } else if (!isspace((unsigned char)text[i])) {
      return op_invalid(node, err, "term \"%.*s\" of the equation is not letters and at most one ellipsis", (int)len,
                        text);
    }
  }
  if (dims >= 0 && n != dims)
    return op_invalid(node, err, "term \"%.*s\" names %d dimensions of an operand that has %d", (int)len, text, n,
                      dims);
  *count = n;
  return ASSAY_OK;
}

// What the operands' terms have.
struct seen {
  int widest;               // dimensions of an ellipsis, at most
  int count[EINSUM_LABELS]; // of each label
};

static enum assay_status add_operand(struct einsum_plan *p, const struct op_infer *c, int i, const char *text,
                                     size_t len, struct seen *seen, struct assay_error *err) {
  const struct shape *shape = &c->in[i]->shape;
  struct term term = {.text = text, .len = len, .dims = shape->rank};
  int labels[SHAPE_MAX_RANK], n;
  int64_t strides[SHAPE_MAX_RANK];
  enum assay_status status = parse_term(c->node, &term, labels, &n, err);
  if (status)
    return status;
  shape_strides(shape, strides);
  int dots = 0;
  for (int d = 0; d < n; d++) {
    int l = labels[d];
    dots += l >= EINSUM_LETTERS;
    seen->count[l]++;
    int64_t extent = shape->dims[d];
    if (extent != 1) {
      if (p->extent[l] != 1 && p->extent[l] != extent)
        return op_invalid(c->node, err, "label %c is %lld in one place and %lld in another",
                          l < 26               ? 'a' + l
                          : l < EINSUM_LETTERS ? 'A' + l - 26
                                               : '.',
                          (long long)p->extent[l], (long long)extent);
      p->extent[l] = extent;
      p->in[i].stride[l] += strides[d]; // a label twice: the diagonal
    }
    p->in[i].labels |= (uint64_t)1 << l;
  }
  seen->widest = dots > seen->widest ? dots : seen->widest;
  p->in[i].f64 = c->in[i]->f64;
  p->in[i].i64 = c->in[i]->i64;
  return ASSAY_OK;
}

// Without "->": the ellipsis, then every letter that occurs once, in alphabetical order (capitals first, as in ASCII).
static enum assay_status implicit_output(struct einsum_plan *p, const struct node *node, const struct seen *seen,
                                         struct assay_error *err) {
  for (int d = 0; d < seen->widest; d++)
    p->out[p->n_out++] = EINSUM_LABELS - seen->widest + d;
  for (int i = 0; i < EINSUM_LETTERS; i++) {
    int l = (i + 26) % EINSUM_LETTERS;
    if (seen->count[l] != 1)
      continue;
    if (p->n_out == SHAPE_MAX_RANK)
      return op_invalid(node, err, "the result has more than %d dimensions", SHAPE_MAX_RANK);
    p->out[p->n_out++] = l;
  }
  return ASSAY_OK;
}

enum assay_status einsum_plan_make(const struct op_infer *c, struct einsum_plan *p, struct assay_error *err) {
  const char *equation = node_string(c->node, "equation", ""), *arrow = strstr(equation, "->");
  const char *end = arrow ? arrow : equation + strlen(equation), *at = equation;
  struct seen seen = {0};
  memset(p, 0, sizeof *p);
  p->n_in = c->n_in;
  for (int l = 0; l < EINSUM_LABELS; l++)
    p->extent[l] = 1;
  if (c->n_in > EINSUM_OPERANDS)
    return op_unsupported(c->node, err, "%d operands; at most %d are supported", c->n_in, EINSUM_OPERANDS);
  for (int i = 0; i < c->n_in; i++) {
    const char *comma = at <= end ? memchr(at, ',', (size_t)(end - at)) : NULL;
    if (at > end || (i < c->n_in - 1) != (comma != NULL))
      return op_invalid(c->node, err, "the equation \"%s\" does not have %d terms", equation, c->n_in);
    const char *stop = comma ? comma : end;
    enum assay_status status = add_operand(p, c, i, at, (size_t)(stop - at), &seen, err);
    if (status)
      return status;
    at = stop + 1;
  }
  enum assay_status status;
  if (arrow) {
    struct term term = {.text = arrow + 2, .len = strlen(arrow + 2), .dims = -1, .ellipsis = seen.widest};
    status = parse_term(c->node, &term, p->out, &p->n_out, err);
  } else {
    status = implicit_output(p, c->node, &seen, err);
  }
  for (int i = 0; i < p->n_out && !status; i++) {
    if (!seen.count[p->out[i]] || p->out_labels >> p->out[i] & 1)
      return op_invalid(c->node, err, "the output of \"%s\" has a label twice, or one that no operand has", equation);
    p->out_labels |= (uint64_t)1 << p->out[i];
  }
  return status;
}

enum assay_status einsum_infer(struct op_infer *c, struct assay_error *err) {
  struct einsum_plan p;
  enum assay_status status = einsum_plan_make(c, &p, err);
  for (int i = 1; i < c->n_in && !status; i++)
    status = loops_need_same(c, i, err);
  if (status)
    return status;
  int64_t dims[SHAPE_MAX_RANK];
  for (int i = 0; i < p.n_out; i++)
    dims[i] = p.extent[p.out[i]];
  return op_output(c, 0, c->in[0]->dtype, p.n_out, dims, err);
}

uint64_t einsum_needed_after(const struct einsum_plan *p, int i) {
  uint64_t labels = p->out_labels;
  for (int k = i + 1; k < p->n_in; k++)
    labels |= p->in[k].labels;
  return labels;
}

void einsum_cost(const struct op_infer *c, struct op_cost *cost) {
  struct einsum_plan p;
  if (einsum_plan_make(c, &p, NULL) != ASSAY_OK)
    return;
  uint64_t have = p.in[0].labels;
  for (int i = 1; i < p.n_in || i == 1; i++) {
    double work = 1;
    have |= i < p.n_in ? p.in[i].labels : 0;
    for (int l = 0; l < EINSUM_LABELS; l++)
      work *= have >> l & 1 ? (double)p.extent[l] : 1;
    if (p.n_in == 1)
      cost->flops += have == p.out_labels ? 0 : work;
    else
      cost->contraction_flops += 2 * work;
    have &= einsum_needed_after(&p, i);
  }
}

void einsum_group_add(const struct einsum_plan *p, struct einsum_group *g, int label) {
  if (p->extent[label] == 1)
    return;
  g->label[g->n++] = label;
  g->count *= p->extent[label];
}

static int64_t group_offset(const struct einsum_plan *p, const struct einsum_group *g, const struct einsum_view *v,
                            int64_t index) {
  int64_t offset = 0;
  for (int i = g->n - 1; i >= 0; i--) {
    offset += index % p->extent[g->label[i]] * v->stride[g->label[i]];
    index /= p->extent[g->label[i]];
  }
  return offset;
}

// The one stride of a group in a view, if it has one.
static bool group_stride(const struct einsum_plan *p, const struct einsum_group *g, const struct einsum_view *v,
                         int64_t *stride) {
  *stride = g->n ? v->stride[g->label[g->n - 1]] : 1;
  int64_t want = *stride;
  for (int i = g->n - 1; i >= 0; i--) {
    if (v->stride[g->label[i]] != want)
      return false;
    want *= p->extent[g->label[i]];
  }
  return true;
}

static int64_t *offsets_of(const struct einsum_plan *p, const struct einsum_group *g, const struct einsum_view *v,
                           struct arena *scratch) {
  int64_t *offsets = arena_calloc(scratch, (size_t)g->count + 1, sizeof *offsets);
  for (int64_t i = 0; offsets && i < g->count; i++)
    offsets[i] = group_offset(p, g, v, i);
  return offsets;
}

// One side of a product as matrices [batch][rows][cols]: in place if its strides allow, else copied.
struct side {
  const double *values;
  int64_t row, col;
  int64_t *batch;
};

static bool side_make(const struct einsum_plan *p, const struct einsum_view *v, const struct einsum_group *batch,
                      const struct einsum_group *rows, const struct einsum_group *cols, struct arena *scratch,
                      struct side *s) {
  if (group_stride(p, rows, v, &s->row) && group_stride(p, cols, v, &s->col) &&
      (s->row == 1 || s->col == 1 || rows->count == 1 || cols->count == 1)) {
    s->values = v->f64;
    s->batch = offsets_of(p, batch, v, scratch);
    return s->batch != NULL;
  }
  int64_t *row = offsets_of(p, rows, v, scratch), *col = offsets_of(p, cols, v, scratch);
  int64_t *from = offsets_of(p, batch, v, scratch);
  size_t size = (size_t)(rows->count * cols->count);
  double *copy = arena_calloc(scratch, (size_t)batch->count * size + 1, sizeof *copy);
  s->batch = arena_calloc(scratch, (size_t)batch->count + 1, sizeof *s->batch);
  if (!row || !col || !from || !copy || !s->batch)
    return false;
  s->values = copy;
  s->row = cols->count;
  s->col = 1;
  for (int64_t b = 0; b < batch->count; b++) {
    s->batch[b] = b * (int64_t)size;
    for (int64_t i = 0; i < rows->count; i++)
      for (int64_t j = 0; j < cols->count; j++)
        *copy++ = v->f64[from[b] + row[i] + col[j]];
  }
  return true;
}

// Labels of the output come in its order, so that the last product often has the result's layout already.
void einsum_split_labels(const struct einsum_plan *p, const struct einsum_view *a, const struct einsum_view *b,
                         uint64_t keep, struct einsum_split *s) {
  int order[EINSUM_LABELS], n_order = 0;
  s->batch.count = s->m.count = s->n.count = s->k.count = 1;
  for (int i = 0; i < p->n_out; i++)
    order[n_order++] = p->out[i];
  for (int l = 0; l < EINSUM_LABELS; l++)
    if (!(p->out_labels >> l & 1))
      order[n_order++] = l;
  for (int i = 0; i < n_order; i++) {
    bool in_a = a->labels >> order[i] & 1, in_b = b->labels >> order[i] & 1, stays = keep >> order[i] & 1;
    if (in_a || in_b)
      einsum_group_add(p, !stays ? &s->k : in_a && in_b ? &s->batch : in_a ? &s->m : &s->n, order[i]);
  }
}

int64_t einsum_lay_out(const struct einsum_plan *p, const struct einsum_split *s, struct einsum_view *out,
                       bool *is_output) {
  const struct einsum_group *groups[] = {&s->batch, &s->m, &s->n};
  int64_t step = 1;
  int position = p->n_out - 1;
  *is_output = true;
  for (int g = 2; g >= 0; g--)
    for (int i = groups[g]->n - 1; i >= 0; i--) {
      int l = groups[g]->label[i];
      out->stride[l] = step;
      step *= p->extent[l];
      while (position >= 0 && p->extent[p->out[position]] == 1)
        position--;
      *is_output = *is_output && position >= 0 && p->out[position--] == l;
    }
  return step;
}

// Two views that become one over the labels still needed; `key` is of the product's noise.
struct pair {
  const struct einsum_view *a, *b;
  uint64_t keep, key;
};

// `to` is the output's array, taken if the layout is right; NULL while operands are still to come.
static enum assay_status combine(struct op_eval *e, const struct einsum_plan *p, const struct pair *pair, double *to,
                                 struct einsum_view *out, struct assay_error *err) {
  const struct einsum_view *a = pair->a, *b = pair->b;
  struct arena *scratch = e->scratch;
  struct arith arith = e->arith;
  struct einsum_split s = {0};
  struct side left, right;
  bool is_output;
  arith.key = pair->key;
  einsum_split_labels(p, a, b, pair->keep, &s);
  if (!side_make(p, a, &s.batch, &s.m, &s.k, scratch, &left) || !side_make(p, b, &s.batch, &s.k, &s.n, scratch, &right))
    return error_nomem(err, "an Einsum's operands");
  *out = (struct einsum_view){.labels = (a->labels | b->labels) & pair->keep};
  int64_t count = einsum_lay_out(p, &s, out, &is_output);
  double *c = to && is_output ? to : arena_calloc(scratch, (size_t)count + 1, sizeof *c);
  if (!c)
    return error_nomem(err, "an Einsum's intermediate result");
  out->f64 = c;
  struct gemm_batch work = {.g = {.m = s.m.count,
                                  .n = s.n.count,
                                  .k = s.k.count,
                                  .a = left.values,
                                  .a_row = left.row,
                                  .a_col = left.col,
                                  .b = right.values,
                                  .b_row = right.row,
                                  .b_col = right.col},
                            .count = s.batch.count,
                            .a_offset = left.batch,
                            .b_offset = right.batch,
                            .c = c,
                            .arith = &arith,
                            .threads = e->threads};
  return gemm_run(&work, err);
}

// Sums one view into the output: the end of every Einsum, and all of one with a single operand.
struct gather {
  const struct einsum_plan *p;
  const struct arith *arith;
  const struct einsum_view *v;
  struct einsum_group out, k;
  double *y;
};

static void gather_range(void *arg, int64_t begin, int64_t end) {
  const struct gather *g = arg;
  for (int64_t i = begin; i < end; i++) {
    const double *from = g->v->f64 + group_offset(g->p, &g->out, g->v, i);
    double sum = 0, t2 = 0;
    for (int64_t k = 0; k < g->k.count; k++) {
      double v = from[group_offset(g->p, &g->k, g->v, k)];
      sum += v;
      t2 += v * v;
    }
    struct noise noise = noise_at(g->arith->key, (uint64_t)i);
    g->y[i] = g->k.count > 1 ? arith_sum(g->arith, &noise, sum, t2, (double)g->k.count, false) : sum;
  }
}

static void gather_output(const struct einsum_plan *p, const struct einsum_view *v, const struct arith *arith,
                          int threads, double *y) {
  struct gather g = {.p = p, .arith = arith, .v = v, .out = {.count = 1}, .k = {.count = 1}, .y = y};
  for (int i = 0; i < p->n_out; i++)
    einsum_group_add(p, &g.out, p->out[i]);
  for (int l = 0; l < EINSUM_LABELS; l++)
    if ((v->labels >> l & 1) && !(p->out_labels >> l & 1))
      einsum_group_add(p, &g.k, l);
  parallel_for(threads, g.out.count, 1 + 10000 / (g.k.count + 1), gather_range, &g);
}

// Integers: every output sums the products of all operands, exactly but for wrapping.
static void integer_einsum(const struct einsum_plan *p, enum dtype dtype, int64_t *y) {
  struct einsum_group out = {.count = 1}, k = {.count = 1};
  for (int i = 0; i < p->n_out; i++)
    einsum_group_add(p, &out, p->out[i]);
  for (int l = 0; l < EINSUM_LABELS; l++)
    if (!(p->out_labels >> l & 1))
      einsum_group_add(p, &k, l);
  for (int64_t i = 0; i < out.count; i++) {
    uint64_t sum = 0;
    for (int64_t j = 0; j < k.count; j++) {
      uint64_t product = 1;
      for (int o = 0; o < p->n_in; o++)
        product *= (uint64_t)p->in[o].i64[group_offset(p, &out, &p->in[o], i) + group_offset(p, &k, &p->in[o], j)];
      sum += product;
    }
    y[i] = loops_wrap(dtype, sum);
  }
}

enum assay_status einsum_eval(struct op_eval *c, struct assay_error *err) {
  struct op_infer as_infer = op_infer_of(c);
  struct einsum_plan p;
  enum assay_status status = einsum_plan_make(&as_infer, &p, err);
  if (status)
    return status;
  if (dtype_is_integer(c->in[0]->dtype)) {
    integer_einsum(&p, c->in[0]->dtype, c->out[0].i64);
    return ASSAY_OK;
  }
  struct einsum_view now = p.in[0];
  for (int i = 1; i < p.n_in && !status; i++) {
    struct einsum_view next;
    struct pair pair = {
        .a = &now, .b = &p.in[i], .keep = einsum_needed_after(&p, i), .key = noise_derive(c->arith.key, (uint64_t)i)};
    status = combine(c, &p, &pair, i == p.n_in - 1 ? c->out[0].f64 : NULL, &next, err);
    now = next;
  }
  if (!status && now.f64 != c->out[0].f64)
    gather_output(&p, &now, &c->arith, c->threads, c->out[0].f64);
  return status;
}

// The dimension of a label in an operand that has it once and no ellipsis; -1: another.
static int place_of(const char *text, size_t n, char label) {
  int at = 0, found = -1;
  for (size_t i = 0; i < n; i++) {
    if (text[i] == '.' || (text[i] == label && found >= 0))
      return -1;
    if (text[i] == label)
      found = at;
    at += text[i] != ' ';
  }
  return found;
}

bool einsum_contracted(const struct op_infer *c, int which, struct op_contracted *out) {
  const struct node *n = c->node;
  const char *text = node_string(n, "equation", ""), *arrow = strstr(text, "->"), *comma = strchr(text, ',');
  if (which > 0 || !comma || n->n_inputs != OP_CONTRACTED_INPUTS)
    return false;
  const size_t first = (size_t)(comma - text), second = arrow ? (size_t)(arrow - comma) - 1 : strlen(comma + 1);
  for (size_t i = 0; i < first; i++) {
    if (text[i] == ' ' || (arrow && strchr(arrow + 2, text[i])))
      continue;
    *out = (struct op_contracted){.axis = {place_of(text, first, text[i]), place_of(comma + 1, second, text[i])}};
    if (out->axis[0] >= 0 && out->axis[1] >= 0)
      return true;
  }
  return false;
}
