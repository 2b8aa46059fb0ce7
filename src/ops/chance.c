// SPDX-License-Identifier: Apache-2.0
// Numbers of chance, which belong to seeds: the same seed gives the same numbers. Which ones is the kernel's choice, so
// that a task with them has a check (task/check.h), in which ChanceTests says whether they look like chance.
//
// What the oracle gives is one right answer: Philox, keyed with a row's seed.
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "ops/chance_tests.h"
#include "ops/families.h"
#include "ops/loops.h"
#include "ops/pytorch.h"

// More trials are not drawn: a candidate may claim any number of them, and each costs the judge a step.
enum { GRAIN = 4096, MOST_TRIALS = 256 };
static const uint64_t PLACE_STREAM = 1; // of what BinomialPlace adds, apart from the samples

static double unit_of(int64_t seed, uint64_t stream, int64_t column) {
  uint32_t w[4];
  philox4x32((uint64_t)seed, (uint64_t)column >> 1, stream, w);
  const uint32_t *two = w + 2 * (column & 1);
  return rng_unit((uint64_t)two[0] << 32 | two[1]);
}

struct chance {
  const struct op_eval *c;
  int64_t columns;
};

static void uniform_range(void *arg, int64_t begin, int64_t end) {
  const struct chance *k = arg;
  for (int64_t i = begin; i < end; i++)
    k->c->out[0].f64[i] =
        floor(unit_of(k->c->in[0]->i64[i / k->columns], 0, i % k->columns) * 0x1p24) * 0x1p-24; // a float's
}

// The chances of k of n trials, one after the other: of the first, and of each from the one before. In logarithms, as
// the first may be far below any double.
struct binomial {
  int64_t n, k;
  double log_odds, log_p, below; // below: the chance of less than k
};

static double chance_of(const struct binomial *b) {
  return exp(b->log_p);
}

static struct binomial binomial_start(int64_t n, double p) {
  return (struct binomial){.n = n, .log_odds = log(p) - log1p(-p), .log_p = n > 0 ? (double)n * log1p(-p) : 0};
}

static void binomial_next(struct binomial *b) {
  b->below += chance_of(b);
  b->log_p += b->log_odds + log((double)(b->n - b->k)) - log((double)(b->k + 1));
  b->k++;
}

static bool is_sure(int64_t n, double p) {
  return n == 0 || p <= 0 || p >= 1;
}

static void binomial_range(void *arg, int64_t begin, int64_t end) {
  const struct chance *c = arg;
  for (int64_t i = begin; i < end; i++) {
    const int64_t column = i % c->columns, n = c->c->in[1]->i64[column];
    const double p = c->c->in[2]->f64[column], u = unit_of(c->c->in[0]->i64[i / c->columns], 0, column);
    double *y = &c->c->out[0].f64[i];
    if (n < 0 || n > MOST_TRIALS || !(p >= 0 && p <= 1)) {
      *y = NAN;
      continue;
    }
    if (is_sure(n, p)) {
      *y = p >= 1 ? (double)n : 0;
      continue;
    }
    struct binomial b = binomial_start(n, p);
    while (b.k < n && b.below + chance_of(&b) <= u)
      binomial_next(&b);
    *y = (double)b.k;
  }
}

// Where x successes stand among all numbers that might have been drawn: the chance of less, and a part of that of x
// itself. Below 0 where x cannot be drawn.
static double place_of(double x, int64_t n, double p, double part) {
  if (!(x >= 0 && x <= (double)n) || x != floor(x) || n > MOST_TRIALS || !(p >= 0 && p <= 1))
    return -1;
  if (is_sure(n, p))
    return x == (p >= 1 ? (double)n : 0) ? part : -1;
  struct binomial b = binomial_start(n, p);
  while ((double)b.k < x)
    binomial_next(&b);
  return fmin(b.below + part * chance_of(&b), 1 - 0x1p-53);
}

// With `rarer` of the rarer outcome, successes or failures: wrong shapes are then off in the same direction for small
// and large chances, and do not cancel. (Chances that are too large do, which shows without it.)
static void place_range(void *arg, int64_t begin, int64_t end) {
  const struct chance *c = arg;
  const bool rarer = node_int(c->c->node, "rarer", 0) != 0;
  for (int64_t i = begin; i < end; i++) {
    const int64_t column = i % c->columns, n = c->c->in[2]->i64[column];
    const double x = c->c->in[0]->f64[i], p = c->c->in[3]->f64[column];
    const double part = unit_of(c->c->in[1]->i64[i / c->columns], PLACE_STREAM, column);
    c->c->out[0].f64[i] = rarer && p > 0.5 ? place_of((double)n - x, n, 1 - p, part) : place_of(x, n, p, part);
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
