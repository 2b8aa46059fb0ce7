// SPDX-License-Identifier: Apache-2.0
// One operator alone: a node made by hand, its inference and its evaluation. For tests of operator families that must
// not depend on the parsers.
#ifndef TEST_OP_CASE_H
#define TEST_OP_CASE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/op.h"

enum { CASE_INPUTS = 8, CASE_ATTRS = 16, CASE_PASSES = 16 };

struct op_case {
  struct arena arena; // everything below
  struct node node;
  struct attr attrs[CASE_ATTRS];
  int inputs[CASE_INPUTS], outputs[CASE_INPUTS];
  struct array in[CASE_INPUTS], out[CASE_INPUTS];
  const struct array *in_list[CASE_INPUTS];
  struct assay_error err;
};

static inline void case_begin(struct op_case *c, const char *domain, const char *op, int opset) {
  memset(c, 0, sizeof *c);
  c->node = (struct node){.name = "", .op_type = op, .domain = domain, .opset = opset, .n_outputs = 1};
  c->node.inputs = c->inputs;
  c->node.outputs = c->outputs;
  c->node.attrs = c->attrs;
  c->node.at = (struct source_location){.line = 1, .column = 1};
  c->node.op = op_find(domain, op, opset);
  assert_non_null(c->node.op);
}

static inline void case_end(struct op_case *c) {
  arena_release(&c->arena);
}

static inline struct array *case_input(struct op_case *c, enum dtype t, int rank, const int64_t *dims) {
  int i = c->node.n_inputs++;
  c->in[i] = (struct array){.dtype = t, .shape = shape_of(rank, dims)};
  c->in[i].bits = arena_calloc(&c->arena, (size_t)shape_count(&c->in[i].shape) + 1, 8);
  assert_non_null(c->in[i].bits);
  c->in_list[i] = &c->in[i];
  c->inputs[i] = i;
  return &c->in[i];
}

#define DIMS(...)                                                                                                      \
  (int)(sizeof(const int64_t[]){__VA_ARGS__} / sizeof(int64_t)), (const int64_t[]) {                                   \
    __VA_ARGS__                                                                                                        \
  }

static inline void case_no_input(struct op_case *c) {
  c->inputs[c->node.n_inputs] = -1;
  c->in_list[c->node.n_inputs++] = NULL;
}

static inline uint64_t case_random(uint64_t *state) {
  *state += 0x9E3779B97F4A7C15u;
  return rng_mix64(*state);
}

static inline double case_uniform(uint64_t *state, double lo, double hi) {
  return lo + (hi - lo) * rng_unit(case_random(state));
}

// Values that fp32 holds exactly, so that what is measured is arithmetic and not conversion.
static inline struct array *case_fill(struct array *a, uint64_t seed, double lo, double hi) {
  for (int64_t i = 0; i < shape_count(&a->shape); i++)
    a->f64[i] = (double)(float)case_uniform(&seed, lo, hi);
  return a;
}

static inline struct array *case_float_input(struct op_case *c, uint64_t seed, double lo, double hi, int rank,
                                             const int64_t *dims) {
  return case_fill(case_input(c, DTYPE_FLOAT, rank, dims), seed, lo, hi);
}

static inline void case_int64_input(struct op_case *c, int n, const int64_t *values) {
  struct array *a = case_input(c, DTYPE_INT64, 1, (const int64_t[]){n});
  for (int i = 0; i < n; i++)
    a->i64[i] = values[i];
}

static inline struct attr *case_attr(struct op_case *c, const char *name, enum attr_type type, size_t count) {
  struct attr *a = &c->attrs[c->node.n_attrs++];
  *a = (struct attr){.name = name, .type = type, .count = count};
  return a;
}

static inline void case_ints(struct op_case *c, const char *name, int n, const int64_t *values) {
  int64_t *copy = arena_calloc(&c->arena, (size_t)n + 1, sizeof *copy);
  memcpy(copy, values, (size_t)n * sizeof *copy);
  case_attr(c, name, ATTR_INTS, (size_t)n)->ints = copy;
}

static inline void case_int(struct op_case *c, const char *name, int64_t value) {
  int64_t *copy = arena_calloc(&c->arena, 1, sizeof *copy);
  *copy = value;
  case_attr(c, name, ATTR_INT, 1)->ints = copy;
}

static inline void case_float(struct op_case *c, const char *name, double value) {
  double *copy = arena_calloc(&c->arena, 1, sizeof *copy);
  *copy = value;
  case_attr(c, name, ATTR_FLOAT, 1)->floats = copy;
}

static inline void case_string(struct op_case *c, const char *name, const char *value) {
  const char **copy = arena_calloc(&c->arena, 1, sizeof *copy);
  *copy = value;
  case_attr(c, name, ATTR_STRING, 1)->strings = copy;
}

static inline struct arith case_exact(void) {
  return (struct arith){
      .exact = true, .bits = 53, .min_exponent = -1022, .max = DBL_MAX, .product_bits = 53, .block = 1};
}

static inline struct arith case_fp32(uint64_t key) {
  return (struct arith){
      .bits = 24, .min_exponent = -126, .max = (double)FLT_MAX, .product_bits = 53, .block = 1, .key = rng_mix64(key)};
}

static inline enum assay_status case_infer(struct op_case *c) {
  struct op_infer infer = {
      .node = &c->node, .n_in = c->node.n_inputs, .n_out = c->node.n_outputs, .in = c->in_list, .out = c->out};
  return c->node.op->infer(&infer, &c->err);
}

// Infers, allocates and evaluates. Outputs hold garbage before.
static inline enum assay_status case_try(struct op_case *c, struct arith arith, int threads) {
  enum assay_status status = case_infer(c);
  if (status)
    return status;
  for (int i = 0; i < c->node.n_outputs; i++) {
    size_t n = (size_t)shape_count(&c->out[i].shape) + 1;
    c->out[i].bits = c->outputs[i] < 0 ? NULL : arena_calloc(&c->arena, n, 8);
    if (c->out[i].bits)
      memset(c->out[i].bits, 0x5a, n * 8);
  }
  struct arena scratch = {0};
  struct op_eval eval = {.node = &c->node,
                         .n_in = c->node.n_inputs,
                         .n_out = c->node.n_outputs,
                         .in = c->in_list,
                         .out = c->out,
                         .arith = arith,
                         .threads = threads,
                         .scratch = &scratch};
  status = c->node.op->eval(&eval, &c->err);
  arena_release(&scratch);
  return status;
}

static inline void case_run(struct op_case *c, struct arith arith, int threads) {
  if (case_try(c, arith, threads) != ASSAY_OK)
    fail_msg("%s: %s", c->node.op_type, c->err.message);
}

static inline void assert_close(const double *got, const double *want, int64_t n, double tolerance) {
  for (int64_t i = 0; i < n; i++) {
    if (isnan(want[i]) ? isnan(got[i]) : got[i] == want[i])
      continue;
    if (!(fabs(got[i] - want[i]) <= tolerance * (1 + fabs(want[i]))))
      fail_msg("element %lld: got %.17g, want %.17g", (long long)i, got[i], want[i]);
  }
}

// Both passes give the same bits on one and on several threads.
static inline void case_check_threads(struct op_case *c) {
  for (int contract = 0; contract < 2; contract++) {
    struct arith arith = contract ? case_fp32(7) : case_exact();
    uint64_t *first[CASE_INPUTS] = {0};
    for (int threads = 1; threads <= 5; threads += 2) {
      case_run(c, arith, threads);
      for (int i = 0; i < c->node.n_outputs; i++)
        if (threads == 1)
          first[i] = c->out[i].bits;
        else if (first[i])
          assert_memory_equal(first[i], c->out[i].bits, (size_t)shape_count(&c->out[i].shape) * 8);
    }
  }
}

// The largest error of an honest fp32 result in units of the spread of the contract passes, beyond the final rounding.
// The spread must also not be absurdly wide: *ratio is its median over the honest error's RMS, for the caller to bound.
static inline double case_honest_z(struct op_case *c, int output, const float *honest, double *ratio) {
  case_run(c, case_exact(), 2);
  int64_t n = shape_count(&c->out[output].shape);
  double *exact = c->out[output].f64, *variance = arena_calloc(&c->arena, (size_t)n + 1, sizeof *variance);
  for (int k = 0; k < CASE_PASSES; k++) {
    case_run(c, case_fp32(1000 + (uint64_t)k), 2);
    for (int64_t i = 0; i < n; i++) {
      double d = c->out[output].f64[i] - exact[i];
      variance[i] += d * d / CASE_PASSES;
    }
  }
  double worst = 0, spread = 0, error = 0;
  for (int64_t i = 0; i < n; i++) {
    double rounding = 0x1p-24 * fabs(exact[i]);
    double sigma = sqrt(fmax(variance[i], rounding * rounding)), e = fabs((double)honest[i] - exact[i]);
    spread += sigma * sigma;
    error += e * e;
    double z = fmax(0, e - rounding) / fmax(sigma, 1e-300);
    if (z > worst)
      worst = z;
  }
  if (ratio)
    *ratio = sqrt(spread / fmax(error, 1e-300));
  return worst;
}

#endif
