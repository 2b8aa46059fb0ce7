// SPDX-License-Identifier: Apache-2.0
// Elementwise evaluation. Output elements are numbered row-major and worked on in blocks of EXPR_BLOCK that begin at
// multiples of it; a block's noise depends on its number alone, so results do not depend on the number of threads.
#include "ops/pointwise.h"

#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "ops/expr.h"
#include "ops/loops.h"

// Blocks a thread takes at least; starting a thread costs about as much as this many simple blocks.
enum { GRAIN_BLOCKS = 64 };

// ---- shape rules

static enum assay_status want(struct op_infer *c, bool floats, bool integers, bool booleans, struct assay_error *err) {
  for (int i = 0; i < c->n_in; i++) {
    if (!c->in[i])
      continue;
    enum dtype t = c->in[i]->dtype;
    bool ok = dtype_is_float(t) ? floats : t == DTYPE_BOOL ? booleans : dtype_is_integer(t) && integers;
    if (!ok)
      return op_invalid(c->node, err, "input %d has type %s, which this operator does not take", i, dtype_name(t));
  }
  return op_infer_broadcast(c, err);
}

enum assay_status pointwise_infer_float(struct op_infer *c, struct assay_error *err) {
  return want(c, true, false, false, err);
}

enum assay_status pointwise_infer_number(struct op_infer *c, struct assay_error *err) {
  return want(c, true, true, false, err);
}

enum assay_status pointwise_infer_compare(struct op_infer *c, struct assay_error *err) {
  enum assay_status status = want(c, true, true, true, err);
  c->out[0].dtype = DTYPE_BOOL;
  return status;
}

// ---- conversions

int64_t pointwise_wrap(enum dtype t, int64_t v) {
  return loops_wrap(t, (uint64_t)v);
}

int64_t pointwise_truncate(enum dtype t, double v) {
  if (t == DTYPE_BOOL)
    return v != 0; // also NaN
  if (isnan(v))
    return 0;
  if (t == DTYPE_UINT64 && v >= 0x1p63)
    return v >= 0x1p64 ? -1 : (int64_t)(uint64_t)v;
  if (v >= 0x1p63)
    return pointwise_wrap(t, INT64_MAX);
  if (v < -0x1p63)
    return pointwise_wrap(t, INT64_MIN);
  return pointwise_wrap(t, (int64_t)v);
}

bool pointwise_holds(enum dtype t, double v) {
  if (t == DTYPE_BOOL)
    return true;
  int bits = dtype_bits(t);
  double least = dtype_is_signed(t) ? -ldexp(1, bits - 1) : 0, end = ldexp(1, dtype_is_signed(t) ? bits - 1 : bits);
  return trunc(v) >= least && v < end;
}

// ---- reading a broadcast input in the order of the output

struct reader {
  const struct array *array;
  bool as_double; // integers are converted
  bool dense;     // same elements in the same order as the output
  int rank;       // adjacent dimensions that stride alike are merged
  int64_t dims[SHAPE_MAX_RANK], strides[SHAPE_MAX_RANK];
};

static void reader_init(struct reader *r, const struct array *a, const struct shape *to, bool as_double) {
  *r = (struct reader){.array = a, .as_double = as_double};
  int64_t strides[SHAPE_MAX_RANK];
  shape_broadcast_strides(&a->shape, to, strides);
  for (int d = 0; d < to->rank; d++) {
    if (to->dims[d] == 1)
      continue;
    if (r->rank > 0 && r->strides[r->rank - 1] == strides[d] * to->dims[d]) {
      r->dims[r->rank - 1] *= to->dims[d];
      r->strides[r->rank - 1] = strides[d];
    } else {
      r->dims[r->rank] = to->dims[d];
      r->strides[r->rank++] = strides[d];
    }
  }
  r->dense = (r->rank == 0 || (r->rank == 1 && r->strides[0] == 1)) && (!as_double || dtype_is_float(a->dtype));
}

// n elements from `source` with a stride to `target`; both are eight-byte words, or integers to be converted.
static void read_run(const struct reader *r, int64_t source, int64_t stride, int64_t n, uint64_t *target) {
  if (r->as_double && !dtype_is_float(r->array->dtype)) {
    bool wide = r->array->dtype == DTYPE_UINT64;
    for (int64_t i = 0; i < n; i++) {
      int64_t v = r->array->i64[source + i * stride];
      double converted = wide ? (double)(uint64_t)v : (double)v;
      memcpy(&target[i], &converted, sizeof converted);
    }
  } else {
    const uint64_t *from = &r->array->bits[source];
    for (int64_t i = 0; i < n; i++)
      target[i] = from[i * stride];
  }
}

// The n elements that meet output elements begin, begin+1, ...: where they lie if they lie together, else copied to
// `buffer`.
static const void *reader_block(const struct reader *r, int64_t begin, int n, uint64_t *buffer) {
  if (r->dense)
    return &r->array->bits[begin];
  int64_t index[SHAPE_MAX_RANK] = {0}, source = 0, rest = begin;
  for (int d = r->rank - 1; d >= 0; d--) {
    index[d] = rest % r->dims[d];
    rest /= r->dims[d];
    source += index[d] * r->strides[d];
  }
  int last = r->rank - 1;
  if (last < 0) {
    read_run(r, 0, 0, n, buffer);
    return buffer;
  }
  for (int64_t done = 0; done < n;) {
    int64_t run = r->dims[last] - index[last];
    if (run > n - done)
      run = n - done;
    read_run(r, source, r->strides[last], run, &buffer[done]);
    done += run;
    index[last] += run;
    source += run * r->strides[last];
    for (int d = last; d > 0 && index[d] == r->dims[d]; d--) {
      source += r->strides[d - 1] - index[d] * r->strides[d];
      index[d] = 0;
      index[d - 1]++;
    }
  }
  return buffer;
}

// ---- the loop over blocks

struct job {
  const struct op_eval *c;
  struct reader *readers; // of the inputs that are there, in order
  int n_readers;
  bool as_double, is_unsigned;
  const struct expr *expr;   // of the inputs, or of (result, next input) when folding
  const struct expr *finish; // after folding, or NULL
  bool fold;
  pointwise_int_fn *int_fn; // instead of expr
  double params[EXPR_MAX_PARAMS], count;
  int64_t n, first; // elements; those of a whole batch before them
};

static void store_block(const struct job *j, const double *values, int64_t begin, int n) {
  struct array *out = &j->c->out[0];
  if (dtype_is_float(out->dtype)) {
    if (values != &out->f64[begin])
      memcpy(&out->f64[begin], values, (size_t)n * sizeof *values);
  } else {
    for (int i = 0; i < n; i++)
      out->i64[begin + i] = pointwise_truncate(out->dtype, values[i]);
  }
}

static void double_block(const struct job *j, int64_t begin, int n, struct noise *noise) {
  uint64_t buffers[3][EXPR_BLOCK];
  double result[EXPR_BLOCK];
  const struct arith *a = &j->c->arith;
  struct array *out = &j->c->out[0];
  double *target = dtype_is_float(out->dtype) ? &out->f64[begin] : result;
  struct expr_block block = {.n = n, .params = j->params};
  int together = j->fold ? 1 : j->n_readers;
  for (int i = 0; i < together; i++)
    block.in[i] = reader_block(&j->readers[i], begin, n, buffers[i]);
  if (!j->fold) {
    expr_eval(j->expr, a, noise, &block, target);
  } else {
    memcpy(target, block.in[0], (size_t)n * sizeof *target);
    block.in[0] = target;
    for (int i = 1; i < j->n_readers; i++) {
      block.in[1] = reader_block(&j->readers[i], begin, n, buffers[1]);
      expr_eval(j->expr, a, noise, &block, target);
    }
    struct expr_block last = {.n = n, .in = {target}, .params = &j->count};
    if (j->finish)
      expr_eval(j->finish, a, noise, &last, target);
  }
  store_block(j, target, begin, n);
}

static void int_block(const struct job *j, int64_t begin, int n) {
  uint64_t buffers[3][EXPR_BLOCK];
  struct array *out = &j->c->out[0];
  int64_t *target = &out->i64[begin];
  struct expr_int_block block = {.n = n, .params = j->params};
  int together = j->fold ? 1 : j->n_readers;
  for (int i = 0; i < together; i++)
    block.in[i] = reader_block(&j->readers[i], begin, n, buffers[i]);
  if (j->int_fn) {
    for (int i = 0; i < n; i++)
      target[i] = j->int_fn(block.in[0][i], block.in[1] ? block.in[1][i] : 0, out->dtype);
  } else if (!j->fold) {
    expr_eval_int(j->expr, j->is_unsigned, &block, target);
  } else {
    memcpy(target, block.in[0], (size_t)n * sizeof *target);
    block.in[0] = target;
    for (int i = 1; i < j->n_readers; i++) {
      block.in[1] = reader_block(&j->readers[i], begin, n, buffers[1]);
      expr_eval_int(j->expr, j->is_unsigned, &block, target);
    }
  }
  for (int i = 0; i < n; i++)
    target[i] = pointwise_wrap(out->dtype, target[i]);
}

static void run_blocks(void *arg, int64_t first, int64_t end) {
  const struct job *j = arg;
  for (int64_t block = first; block < end; block++) {
    int64_t begin = block * EXPR_BLOCK - j->first % EXPR_BLOCK, left = j->n - begin;
    int n = (int)(left < EXPR_BLOCK ? left : EXPR_BLOCK);
    n += begin < 0 ? (int)begin : 0;
    begin = begin < 0 ? 0 : begin;
    struct noise noise = noise_at(j->c->arith.key, (uint64_t)(j->first / EXPR_BLOCK + block));
    if (j->as_double)
      double_block(j, begin, n, &noise);
    else
      int_block(j, begin, n);
  }
}

static enum assay_status run(struct job *j, struct op_eval *c, struct assay_error *err) {
  j->c = c;
  j->n = shape_count(&c->out[0].shape);
  j->first = arith_first(&c->arith, j->n, c->out[0].shape.dims[0]);
  j->readers = arena_calloc(c->scratch, (size_t)c->n_in + 1, sizeof *j->readers);
  if (!j->readers)
    return error_nomem(err, "an elementwise evaluation");
  for (int i = 0; i < c->n_in; i++)
    j->as_double |= c->in[i] && dtype_is_float(c->in[i]->dtype);
  for (int i = 0; i < c->n_in; i++)
    if (c->in[i]) {
      j->is_unsigned |= c->in[i]->dtype == DTYPE_UINT64;
      reader_init(&j->readers[j->n_readers++], c->in[i], &c->out[0].shape, j->as_double);
    }
  if (!j->as_double && j->expr && !expr_has_integers(j->expr))
    return op_unsupported(c->node, err, "not defined for integers");
  parallel_for(c->threads, (j->first % EXPR_BLOCK + j->n + EXPR_BLOCK - 1) / EXPR_BLOCK, GRAIN_BLOCKS, run_blocks, j);
  return ASSAY_OK;
}

// ---- attributes as parameters, and after them whether this is the exact pass

static int attr_names(const struct op_def *row, const char **names) {
  int n = 0;
  for (const struct op_attr *a = row->attrs; a && a->name && n < EXPR_MAX_PARAMS; a++)
    names[n++] = a->name;
  if (n < EXPR_MAX_PARAMS)
    names[n++] = "exact";
  return n;
}

// Defaults are float32 in ONNX's schemas, and so is every attribute in a file.
static double attr_value(const struct node *node, const struct op_attr *a) {
  const char *fallback = a->fallback ? a->fallback : "";
  if (a->type == ATTR_FLOAT)
    return node_float(node, a->name, (double)strtof(fallback, NULL));
  if (a->type == ATTR_INT)
    return (double)node_int(node, a->name, strtoll(fallback, NULL, 10));
  return a->type == ATTR_STRING && strcmp(node_string(node, a->name, fallback), fallback) != 0;
}

int pointwise_params(const struct node *node, bool exact, const char **names, double *values) {
  int n = 0;
  for (const struct op_attr *a = node->op->attrs; a && a->name && n < EXPR_MAX_PARAMS; a++)
    values[n++] = attr_value(node, a);
  if (n < EXPR_MAX_PARAMS)
    values[n] = exact;
  return attr_names(node->op, names);
}

bool pointwise_fractional(const struct op_def *row) {
  bool any = false;
  for (const struct op_attr *a = row->attrs; a && a->name; a++)
    any = any || a->type == ATTR_FLOAT;
  return any;
}

enum assay_status pointwise_eval(struct op_eval *c, struct assay_error *err) {
  const struct op_def *row = c->node->op;
  const char *names[EXPR_MAX_PARAMS];
  // An integer tensor with a fractional attribute is computed in double and truncated.
  struct job j = {.fold = row->max_in == OP_VARIADIC, .count = c->n_in, .as_double = pointwise_fractional(row)};
  int n = pointwise_params(c->node, c->arith.exact, names, j.params);
  enum assay_status status = expr_parse(op_expr(c->node), names, n, c->scratch, &j.expr, err);
  if (status == ASSAY_OK && row->expr_finish)
    status = expr_parse(row->expr_finish, (const char *const[]){"count"}, 1, c->scratch, &j.finish, err);
  return status == ASSAY_OK ? run(&j, c, err) : status;
}

enum assay_status pointwise_eval_int(struct op_eval *c, pointwise_int_fn *fn, struct assay_error *err) {
  struct job j = {.int_fn = fn};
  return run(&j, c, err);
}

void pointwise_cost(const struct op_infer *c, struct op_cost *cost) {
  const char *names[EXPR_MAX_PARAMS];
  const struct op_def *row = c->node->op;
  struct arena arena = {0};
  const struct expr *e;
  cost->no_memory = expr_parse(row->expr, names, attr_names(row, names), &arena, &e, NULL) != ASSAY_OK;
  double each = cost->no_memory ? 0 : expr_flops(e);
  int steps = row->max_in == OP_VARIADIC && c->n_in > 1 ? c->n_in - 1 : 1;
  cost->flops += dtype_is_float(c->in[0]->dtype) ? each * steps * (double)shape_count(&c->out[0].shape) : 0;
  arena_release(&arena);
}
