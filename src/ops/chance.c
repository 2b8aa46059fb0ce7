// SPDX-License-Identifier: Apache-2.0
// Numbers of chance, which belong to seeds: the same seed gives the same numbers. Which ones is the kernel's choice, so
// that a task with them has a check (task/check.h), in which ChanceTests says whether they look like chance.
//
// What the oracle gives is one right answer: Philox, keyed with a row's seed.
#include <string.h>

#include "base/parallel.h"
#include "ops/chance_math.h"
#include "ops/chance_tests.h"
#include "ops/families.h"
#include "ops/loops.h"
#include "ops/pytorch.h"

enum { GRAIN = 4096 };

struct chance {
  const struct op_eval *c;
  int64_t columns;
};

static void uniform_range(void *arg, int64_t begin, int64_t end) {
  const struct chance *k = arg;
  for (int64_t i = begin; i < end; i++)
    k->c->out[0].f64[i] = chance_uniform(k->c->in[0]->i64[i / k->columns], i % k->columns);
}

static void binomial_range(void *arg, int64_t begin, int64_t end) {
  const struct chance *c = arg;
  for (int64_t i = begin; i < end; i++) {
    const int64_t column = i % c->columns, n = c->c->in[1]->i64[column];
    const double p = c->c->in[2]->f64[column];
    c->c->out[0].f64[i] = chance_binomial(n, p, c->c->in[0]->i64[i / c->columns], column);
  }
}

static void place_range(void *arg, int64_t begin, int64_t end) {
  const struct chance *c = arg;
  const bool rarer = node_int(c->c->node, "rarer", 0) != 0;
  for (int64_t i = begin; i < end; i++) {
    const int64_t column = i % c->columns, n = c->c->in[2]->i64[column];
    const double x = c->c->in[0]->f64[i], p = c->c->in[3]->f64[column];
    const double part = chance_part(c->c->in[1]->i64[i / c->columns], column);
    c->c->out[0].f64[i] = rarer ? chance_rarer_place(x, n, p, part) : chance_place(x, n, p, part);
  }
}

static enum assay_status run(struct op_eval *c, parallel_body *body) {
  const struct shape *s = &c->out[0].shape;
  struct chance k = {.c = c, .columns = s->dims[1]};
  parallel_for(c->threads, shape_count(s), GRAIN, body, &k);
  return ASSAY_OK;
}

static enum assay_status uniform_eval(struct op_eval *c, struct assay_error *err) {
  (void)err;
  return run(c, uniform_range);
}
static enum assay_status binomial_eval(struct op_eval *c, struct assay_error *err) {
  (void)err;
  return run(c, binomial_range);
}
static enum assay_status place_eval(struct op_eval *c, struct assay_error *err) {
  (void)err;
  return run(c, place_range);
}

static enum assay_status tests_eval(struct op_eval *c, struct assay_error *err) {
  const struct shape *s = &c->in[0]->shape;
  const struct chance_rows rows = {.rows = s->dims[0],
                                   .columns = s->dims[1],
                                   .u = c->in[0]->f64,
                                   .seeds = c->in[1]->i64,
                                   .grid = node_int(c->node, "grid", 1) != 0};
  return chance_test(&rows, c->out[0].i64) ? ASSAY_OK : error_nomem(err, "tests of chance");
}

// ---- shapes

static bool is_vector(const struct array *a, bool whole) {
  return a->shape.rank == 1 && (whole ? dtype_is_integer(a->dtype) : dtype_is_float(a->dtype));
}

static enum assay_status uniform_infer(struct op_infer *c, struct assay_error *err) {
  const struct shape *like = &c->in[1]->shape;
  if (!is_vector(c->in[0], true) || like->rank < 1 || !dtype_is_float(c->in[1]->dtype))
    return op_invalid(c->node, err, "input 0 must be whole numbers [s], input 1 of a floating type [..., n]");
  return op_output(c, 0, c->in[1]->dtype, 2, (int64_t[]){c->in[0]->shape.dims[0], like->dims[like->rank - 1]}, err);
}

static enum assay_status need_binomial(const struct op_infer *c, int first, struct assay_error *err) {
  const struct array *seeds = c->in[first], *counts = c->in[first + 1], *chances = c->in[first + 2];
  if (!is_vector(seeds, true) || !is_vector(counts, true) || !is_vector(chances, false) ||
      counts->shape.dims[0] != chances->shape.dims[0])
    return op_invalid(c->node, err, "the last inputs must be seeds [s], whole numbers [n] and chances [n]");
  return ASSAY_OK;
}

static enum assay_status binomial_infer(struct op_infer *c, struct assay_error *err) {
  enum assay_status status = need_binomial(c, 0, err);
  if (status)
    return status;
  return op_output(c, 0, c->in[2]->dtype, 2, (int64_t[]){c->in[0]->shape.dims[0], c->in[1]->shape.dims[0]}, err);
}

static enum assay_status place_infer(struct op_infer *c, struct assay_error *err) {
  enum assay_status status = need_binomial(c, 1, err);
  const struct shape *x = &c->in[0]->shape;
  if (status)
    return status;
  if (!dtype_is_float(c->in[0]->dtype) || x->rank != 2 || x->dims[0] != c->in[1]->shape.dims[0] ||
      x->dims[1] != c->in[2]->shape.dims[0])
    return op_invalid(c->node, err, "input 0 must be numbers [s, n], for s seeds and n chances");
  return op_infer_same(c, err);
}

static enum assay_status tests_infer(struct op_infer *c, struct assay_error *err) {
  const struct shape *u = &c->in[0]->shape;
  if (!dtype_is_float(c->in[0]->dtype) || u->rank != 2 || !is_vector(c->in[1], true) ||
      c->in[1]->shape.dims[0] != u->dims[0])
    return op_invalid(c->node, err, "input 0 must be numbers [s, n], input 1 as many seeds [s]");
  return op_output(c, 0, DTYPE_INT64, 1, (int64_t[]){CHANCE_COUNT}, err);
}

static const struct op_attr place_attrs[] = {{"rarer", ATTR_INT, false, "0"}, {0}};
static const struct op_attr tests_attrs[] = {{"grid", ATTR_INT, false, "1"}, {0}};

#define CHANCE_ROW(NAME, INPUTS)                                                                                       \
  OP_ROW_OF("ai.assay", NAME, 1, INPUTS, INPUTS, 1, 1, OP_CONSTANT), .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}
#define CHANCE_LIST(name, text) " " text ";"

static const struct op_def rows[] = {
    {CHANCE_ROW("SeededUniform", 2), .infer = uniform_infer, .eval = uniform_eval, .free = 1 << 0,
     .pytorch = {.text =
                     "torch.stack([torch.rand($1.shape[-1], generator=torch.Generator($1.device).manual_seed(int(s)), "
                     "device=$1.device) for s in $0])"},
     .doc =
         "Numbers of the uniform distribution over [0, 1), [s, n]: a row for each of the s seeds of input 0, as long "
         "as "
         "the last extent of input 1, whose elements are not read. Which numbers a seed gives is free.",
     .example = "(int64[3] seeds, float[0,5] like) => (bool[3,5] y) { u = ai.assay.SeededUniform(seeds, like) "
                "one = Constant<value_float = 1.0>() y = Less(u, one) }"},
    {CHANCE_ROW("SeededBinomial", 3), .infer = binomial_infer, .eval = binomial_eval, .free = 1 << 0,
     .pytorch = {.text = "torch.stack([torch.binomial($1.to($2.dtype), $2, "
                         "generator=torch.Generator($2.device).manual_seed(int(s))) for s in $0])"},
     .doc =
         "How many of input 1's trials [n] succeed, each with the chance of input 2 [n]: a row [s, n] for each seed of "
         "input 0; NaN where there are more than 256 trials. Which numbers a seed gives is free.",
     .example = "(int64[2] seeds, float[4] x) => (bool[2,4] y) { a = Abs(x) ten = Constant<value_float = 10.0>() "
                "m = Mul(a, ten) n = Cast<to = 7>(m) p = Sigmoid(x) k = ai.assay.SeededBinomial(seeds, n, p) "
                "y = LessOrEqual(k, m) }"},
    {CHANCE_ROW("BinomialPlace", 4), .attrs = place_attrs, .infer = place_infer, .eval = place_eval,
     .pytorch = {.none = "a check of numbers of chance, which no kernel computes"},
     .doc = "Where numbers [s, n] (input 0) stand in the binomial distributions of inputs 2 and 3: the chance of a "
            "smaller "
            "number (with rarer = 1 of failures, where their chance is below 1/2), and a random part of the chance of "
            "the number "
            "itself, "
            "which depends on the row's seed (input 1) and the place. So it is uniform over [0, 1) if the numbers are "
            "binomial. -1 where a number cannot be drawn.",
     .example =
         "(float[2,4] x, int64[2] seeds, float[4] z) => (float[2,4] y) { a = Abs(z) ten = Constant<value_float = "
         "10.0>() m = Mul(a, ten) n = Cast<to = 7>(m) p = Sigmoid(z) k = Floor(x) "
         "y = ai.assay.BinomialPlace(k, seeds, n, p) }"},
    {CHANCE_ROW("ChanceTests", 2), .attrs = tests_attrs, .infer = tests_infer, .eval = tests_eval,
     .pytorch = {.none = "a check of numbers of chance, which no kernel computes"},
     .doc =
         "Whether numbers [s, n] look like independent draws of the uniform distribution over [0, 1), whose rows "
         "belong "
         "to the seeds of input 1 [s]: zeros, if they do. The first two count what must not be, the others are minus "
         "the logarithm to base 10 of the chance of numbers as odd, where that is below 10^-9. In this "
         "order:" CHANCE_TESTS(CHANCE_LIST) " with grid = 0 numbers are continuous, and bits from 17 on, repeats and "
                                            "equal numbers are not tested.",
     .example = "(float[2,8] x, int64[2] seeds) => (int64[16] t) { u = Abs(x) t = ai.assay.ChanceTests(u, seeds) }"},
};

const struct op_family ops_chance_family = {"Chance", rows, sizeof rows / sizeof rows[0]};
