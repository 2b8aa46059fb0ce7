// SPDX-License-Identifier: Apache-2.0
// One operator called alone, without a graph: for tests of the operator table.
#ifndef TESTS_OP_CALL_H
#define TESTS_OP_CALL_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops/op.h"

enum { CALL_MAX = 8 };

struct call {
  struct arena arena;
  struct attr attrs[CALL_MAX];
  int inputs[CALL_MAX]; // as in a graph: -1 where one is left out
  struct node node;
  struct array in[CALL_MAX], out[CALL_MAX];
  const struct array *in_p[CALL_MAX];
  struct arith arith; // exact unless changed
  int threads;
  struct assay_error err;
};

static inline void call_begin(struct call *c, const char *op, int version) {
  *c = (struct call){.threads = 1, .arith = {.exact = true, .key = 1}};
  c->node =
      (struct node){.name = "", .op_type = op, .domain = "", .opset = version, .attrs = c->attrs, .inputs = c->inputs};
  c->node.op = op_find("", op, version);
  if (!c->node.op)
    fail_msg("no row for %s at version %d", op, version);
}

static inline void call_end(struct call *c) {
  arena_release(&c->arena);
}

// "2,3" is a shape, "" that of a scalar.
static inline struct shape call_shape(const char *text) {
  struct shape s = {0};
  while (*text) {
    char *end;
    s.dims[s.rank++] = strtoll(text, &end, 10);
    text = *end ? end + 1 : end;
  }
  return s;
}

static inline void call_input(struct call *c, enum dtype t, const char *shape, const void *words) {
  int i = c->node.n_inputs++;
  struct array *a = &c->in[i];
  c->inputs[i] = i;
  a->dtype = t;
  a->shape = call_shape(shape);
  size_t bytes = (size_t)shape_count(&a->shape) * 8;
  a->bits = arena_alloc(&c->arena, bytes + 8);
  assert_non_null(a->bits);
  if (bytes)
    memcpy(a->bits, words, bytes);
  c->in_p[i] = a;
}

static inline void call_f(struct call *c, const char *shape, const double *v) {
  call_input(c, DTYPE_FLOAT, shape, v);
}
static inline void call_i(struct call *c, const char *shape, const int64_t *v) {
  call_input(c, DTYPE_INT64, shape, v);
}
static inline void call_none(struct call *c) {
  c->inputs[c->node.n_inputs] = -1;
  c->in_p[c->node.n_inputs++] = NULL;
}

static inline struct attr *call_attr(struct call *c, const char *name, enum attr_type type, size_t count) {
  struct attr *a = &c->attrs[c->node.n_attrs++];
  *a = (struct attr){.name = name, .type = type, .count = count};
  return a;
}
static inline void call_attr_int(struct call *c, const char *name, int64_t v) {
  int64_t *p = arena_alloc(&c->arena, sizeof *p);
  *p = v;
  call_attr(c, name, ATTR_INT, 1)->ints = p;
}
static inline void call_attr_ints(struct call *c, const char *name, size_t n, const int64_t *v) {
  call_attr(c, name, ATTR_INTS, n)->ints = v;
}
static inline void call_attr_float(struct call *c, const char *name, double v) {
  double *p = arena_alloc(&c->arena, sizeof *p);
  *p = v;
  call_attr(c, name, ATTR_FLOAT, 1)->floats = p;
}
static inline void call_attr_string(struct call *c, const char *name, const char *v) {
  const char **p = arena_alloc(&c->arena, sizeof *p);
  *p = v;
  call_attr(c, name, ATTR_STRING, 1)->strings = p;
}

static inline enum assay_status call_infer(struct call *c, int n_out) {
  c->node.n_outputs = n_out;
  struct op_infer infer = {.node = &c->node, .n_in = c->node.n_inputs, .n_out = n_out, .in = c->in_p, .out = c->out};
  return c->node.op->infer(&infer, &c->err);
}

static inline enum assay_status call_eval(struct call *c, int n_out) {
  for (int i = 0; i < n_out; i++) {
    size_t bytes = (size_t)shape_count(&c->out[i].shape) * 8 + 8;
    c->out[i].bits = arena_alloc(&c->arena, bytes);
    assert_non_null(c->out[i].bits);
    memset(c->out[i].bits, 0xA5, bytes); // outputs are not cleared
  }
  struct op_eval eval = {.node = &c->node,
                         .n_in = c->node.n_inputs,
                         .n_out = n_out,
                         .in = c->in_p,
                         .out = c->out,
                         .arith = c->arith,
                         .threads = c->threads,
                         .scratch = &c->arena};
  return c->node.op->eval(&eval, &c->err);
}

static inline void call_run(struct call *c, int n_out) {
  if (call_infer(c, n_out) != ASSAY_OK || call_eval(c, n_out) != ASSAY_OK)
    fail_msg("%s", c->err.message);
}

// The call fails, at inference or at evaluation, with this status and a message that has this text.
static inline void call_fails(struct call *c, int n_out, enum assay_status want, const char *text) {
  enum assay_status status = call_infer(c, n_out);
  if (status == ASSAY_OK)
    status = call_eval(c, n_out);
  if (status != want || !strstr(c->err.message, text))
    fail_msg("%s: status %d, \"%s\"; want %d, \"%s\"", c->node.op_type, status, c->err.message, want, text);
  call_end(c);
}

static inline void call_check_shape(const struct call *c, int i, const char *shape) {
  struct shape want = call_shape(shape);
  char text[SHAPE_TEXT_BYTES];
  if (!shape_equal(&want, &c->out[i].shape))
    fail_msg("%s: output %d has shape %s, want %s", c->node.op_type, i, shape_text(&c->out[i].shape, text), shape);
}

static inline void call_check_f(const struct call *c, int i, const char *shape, const double *want) {
  call_check_shape(c, i, shape);
  for (int64_t k = 0; k < shape_count(&c->out[i].shape); k++) {
    double got = c->out[i].f64[k];
    if (!(got == want[k] || (isnan(got) && isnan(want[k])) || fabs(got - want[k]) <= 1e-14 * fabs(want[k])))
      fail_msg("%s: output %d[%d] is %.17g, want %.17g", c->node.op_type, i, (int)k, got, want[k]);
  }
}

static inline void call_check_i(const struct call *c, int i, const char *shape, const int64_t *want) {
  call_check_shape(c, i, shape);
  for (int64_t k = 0; k < shape_count(&c->out[i].shape); k++)
    if (c->out[i].i64[k] != want[k])
      fail_msg("%s: output %d[%d] is %lld, want %lld", c->node.op_type, i, (int)k, (long long)c->out[i].i64[k],
               (long long)want[k]);
}

#define D(...) ((const double[]){__VA_ARGS__})
#define I(...) ((const int64_t[]){__VA_ARGS__})

#endif
