// SPDX-License-Identifier: Apache-2.0
// Losses over class labels: NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include <string.h>

#include "base/parallel.h"
#include "ops/families.h"
#include "ops/loops.h"
#include "ops/pytorch.h"

enum reduction_kind { REDUCE_NONE, REDUCE_SUM, REDUCE_MEAN };

struct loss {
  const struct arith *arith;
  struct rows rows;          // one a label: the scores of all classes
  const double *x, *weights; // weights of classes, or NULL
  const int64_t *labels;
  bool has_ignored;
  int64_t ignored;
  bool softmax;                   // x are scores, not yet logarithms of probabilities
  double *log_probabilities;      // all of them, or NULL
  double *losses, *label_weights; // one a label; weights NULL when nobody wants them
};

static bool read_reduction(const struct node *node, enum reduction_kind *out) {
  const char *text = node_string(node, "reduction", "mean");
  *out = strcmp(text, "none") == 0 ? REDUCE_NONE : strcmp(text, "sum") == 0 ? REDUCE_SUM : REDUCE_MEAN;
  return *out != REDUCE_MEAN || strcmp(text, "mean") == 0;
}

// The largest score, and the logarithm of the sum of exponentials beneath it.
static void row_normalizer(const struct loss *l, int64_t row, struct noise *noise, double *max, double *log_sum) {
  const struct arith *a = l->arith;
  double buffer[ROWS_WIDTH * ROWS_CHUNK], terms[ROWS_CHUNK];
  const double *line;
  struct total sum = {0};
  int64_t length = l->rows.length, n;
  *max = -INFINITY;
  for (int64_t at = 0; at < length; at += n) {
    n = rows_view(&l->rows, l->x, (struct rows_piece){row, 1, at, length - at}, buffer, &line);
    for (int64_t i = 0; i < n; i++)
      *max = line[i] > *max || isnan(line[i]) ? line[i] : *max;
  }
  for (int64_t at = 0; at < length; at += n) {
    n = rows_view(&l->rows, l->x, (struct rows_piece){row, 1, at, length - at}, buffer, &line);
    for (int64_t i = 0; i < n; i++)
      terms[i] = arith_round_power(a, noise, exp(arith_round(a, noise, line[i] - *max)));
    struct total part = loops_total(terms, n);
    sum.y += part.y;
    sum.t2 += part.t2;
  }
  double total = arith_sum(a, noise, sum.y, sum.t2, (double)length, false);
  *log_sum = arith_round_ulps(a, noise, log(total), 1);
}

// In a contract pass the score less the logarithm of the sum of all exponentials, as a loss is written and many kernels
// compute it: that logarithm is one number, rounded as coarsely as the largest score.
static double log_probability(const struct loss *l, struct noise *noise, double x, double max, double log_sum) {
  if (l->arith->exact)
    return x - max - log_sum;
  return arith_round(l->arith, noise, x - arith_round(l->arith, noise, max + log_sum));
}

static void loss_row(const struct loss *l, int64_t row) {
  const struct arith *a = l->arith;
  struct noise noise = noise_at(a->key, (uint64_t)row);
  int64_t label = l->labels[row];
  double max = 0, log_sum = 0;
  if (l->softmax)
    row_normalizer(l, row, &noise, &max, &log_sum);
  for (int64_t i = 0; l->log_probabilities && i < l->rows.length; i++) {
    int64_t at = rows_offset(&l->rows, row, i);
    l->log_probabilities[at] = log_probability(l, &noise, l->x[at], max, log_sum);
  }
  double weight = 0, value = 0;
  if (!(l->has_ignored && label == l->ignored)) {
    int64_t at = rows_offset(&l->rows, row, label);
    value = l->log_probabilities ? l->log_probabilities[at] : l->x[at];
    if (l->softmax && !l->log_probabilities)
      value = log_probability(l, &noise, value, max, log_sum);
    weight = l->weights ? l->weights[label] : 1;
    value = -(l->weights ? arith_round(a, &noise, value * weight) : value);
  }
  l->losses[row] = value;
  if (l->label_weights)
    l->label_weights[row] = weight;
}

static void loss_range(void *arg, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; row++)
    loss_row(arg, row);
}

static double reduce_losses(const struct loss *l, enum reduction_kind kind, int64_t n) {
  struct noise noise = noise_at(l->arith->key ^ 1, (uint64_t)n);
  struct total t = loops_total(l->losses, n);
  float lane = 0;
  for (int64_t i = 0; i < n && l->arith->one_lane; i++)
    lane += (float)l->losses[i];
  bool lost = l->arith->one_lane && n <= ARITH_LANE_LENGTH;
  double y = arith_sum_lost(l->arith, &noise, t.y, t.t2, (double)n, lost ? (double)lane - t.y : 0, 1);
  if (kind == REDUCE_SUM)
    return y;
  struct total w = loops_total(l->label_weights, n);
  // Without weights the divisor is a count, which is exact.
  double by = l->weights ? arith_sum(l->arith, &noise, w.y, w.t2, (double)n, false) : w.y;
  return arith_round(l->arith, &noise, y / by);
}

static enum assay_status loss_infer(struct op_infer *c, struct assay_error *err) {
  const struct shape *x = &c->in[0]->shape, *labels = &c->in[1]->shape;
  char tx[SHAPE_TEXT_BYTES], tl[SHAPE_TEXT_BYTES];
  enum reduction_kind kind;
  enum assay_status status = loops_need_float(c, 0, err);
  if (!status)
    status = loops_need_same(c, 2, err);
  if (status)
    return status;
  if (!read_reduction(c->node, &kind))
    return op_invalid(c->node, err, "reduction must be none, sum or mean");
  if (!dtype_is_integer(c->in[1]->dtype))
    return op_invalid(c->node, err, "labels (input 1) must be integers, not %s", dtype_name(c->in[1]->dtype));
  bool fits = x->rank >= 2 && labels->rank == x->rank - 1 && labels->dims[0] == x->dims[0];
  for (int i = 1; fits && i < labels->rank; i++)
    fits = labels->dims[i] == x->dims[i + 1];
  if (!fits)
    return op_invalid(c->node, err, "labels %s do not fit scores %s (N, C, D1, ...)", shape_text(labels, tl),
                      shape_text(x, tx));
  if (op_has(c, 2) && (c->in[2]->shape.rank != 1 || c->in[2]->shape.dims[0] != x->dims[1]))
    return op_invalid(c->node, err, "weights %s, not one for each of %lld classes", shape_text(&c->in[2]->shape, tl),
                      (long long)x->dims[1]);
  c->out[0].dtype = c->in[0]->dtype;
  c->out[0].shape = kind == REDUCE_NONE ? *labels : (struct shape){.rank = 0};
  if (c->n_out > 1) {
    c->out[1].dtype = c->in[0]->dtype;
    c->out[1].shape = *x;
  }
  return ASSAY_OK;
}

static enum assay_status loss_run(struct op_eval *c, bool softmax, struct assay_error *err) {
  struct op_infer as_infer = op_infer_of(c);
  enum reduction_kind kind;
  read_reduction(c->node, &kind);
  struct loss l = {.arith = &c->arith,
                   .x = c->in[0]->f64,
                   .weights = op_has(&as_infer, 2) ? c->in[2]->f64 : NULL,
                   .labels = c->in[1]->i64,
                   .has_ignored = node_attr(c->node, "ignore_index") != NULL,
                   .ignored = node_int(c->node, "ignore_index", 0),
                   .softmax = softmax,
                   .log_probabilities = c->n_out > 1 ? c->out[1].f64 : NULL,
                   .losses = c->out[0].f64};
  rows_init(&l.rows, &c->in[0]->shape, 1u << 1, NULL);
  int64_t n = l.rows.count;
  if (kind != REDUCE_NONE) {
    l.losses = arena_calloc(c->scratch, (size_t)n + 1, sizeof(double));
    l.label_weights = arena_calloc(c->scratch, (size_t)n + 1, sizeof(double));
    if (!l.losses || !l.label_weights)
      return error_nomem(err, "the losses of a batch");
  }
  for (int64_t i = 0; i < n; i++)
    if ((l.labels[i] < 0 || l.labels[i] >= l.rows.length) && !(l.has_ignored && l.labels[i] == l.ignored))
      return error_set(err, ASSAY_ERR_INVALID, "label %lld (element %lld) names none of the %lld classes",
                       (long long)l.labels[i], (long long)i, (long long)l.rows.length);
  parallel_for(c->threads, n, 1 + 5000 / (l.rows.length + 1), loss_range, &l);
  if (kind != REDUCE_NONE)
    c->out[0].f64[0] = reduce_losses(&l, kind, n);
  return ASSAY_OK;
}

static enum assay_status nll_eval(struct op_eval *c, struct assay_error *err) {
  return loss_run(c, false, err);
}
static enum assay_status cross_entropy_eval(struct op_eval *c, struct assay_error *err) {
  return loss_run(c, true, err);
}

static void nll_cost(const struct op_infer *c, struct op_cost *cost) {
  cost->flops = 2 * (double)shape_count(&c->in[1]->shape);
}

static void cross_entropy_cost(const struct op_infer *c, struct op_cost *cost) {
  cost->flops = 5 * (double)shape_count(&c->in[0]->shape);
}

static void pytorch_loss(struct pytorch_writer *w, const struct node *n) {
  buf_printf(w->out, "%s(", n->op->pytorch.text);
  pytorch_put_template(w, n, node_has_input(n, 2) ? "$0, $1, $2, " : "$0, $1, ");
  pytorch_put_template(w, n,
                       node_attr(n, "ignore_index") ? "ignore_index={ignore_index}, reduction={reduction})"
                                                    : "reduction={reduction})");
}

static const struct op_attr loss_attrs[] = {
    {"ignore_index", ATTR_INT, false, NULL},
    {"reduction", ATTR_STRING, false, "mean"},
    {NULL, 0, false, NULL},
};

static const struct op_def loss_rows[] = {
    {.name = "NegativeLogLikelihoodLoss",
     .domain = "",
     .since = 12,
     .min_in = 2,
     .max_in = 3,
     .min_out = 1,
     .max_out = 1,
     .class = OP_REDUCTION,
     .attrs = loss_attrs,
     .infer = loss_infer,
     .eval = nll_eval,
     .cost = nll_cost,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY},
     .pytorch = {.text = "F.nll_loss", .write = pytorch_loss},
     .doc = "-weight[label] * x[label] for each label, where x holds logarithms of probabilities [N, C, D1, ...]; "
            "then, by "
            "reduction, these as they are, their sum, or their sum over the sum of the weights. Labels equal to "
            "ignore_index are "
            "left out.",
     .example = "(float[3,5] x, float[5] w) => (float y) <int64[3] t = {1, 0, 4}> "
                "{ y = NegativeLogLikelihoodLoss(x, t, w) }"},
    {.name = "SoftmaxCrossEntropyLoss",
     .domain = "",
     .since = 12,
     .min_in = 2,
     .max_in = 3,
     .min_out = 1,
     .max_out = 2,
     .class = OP_REDUCTION,
     .attrs = loss_attrs,
     .infer = loss_infer,
     .eval = cross_entropy_eval,
     .cost = cross_entropy_cost,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY},
     .pytorch = {.text = "F.cross_entropy", .write = pytorch_loss},
     .doc = "NegativeLogLikelihoodLoss of LogSoftmax(scores) along dimension 1, which is the second output.",
     .example = "(float[3,5] x) => (float y) <int64[3] t = {1, 0, 4}> { y = SoftmaxCrossEntropyLoss(x, t) }\n"
                "(float[3,5,2] x, float[5] w) => (float[3,2] y, float[3,5,2] p) <int64[3,2] t = {1, 0, 4, 2, 3, 1}> "
                "{ y, p = SoftmaxCrossEntropyLoss<reduction = \"none\", ignore_index = 2>(x, t, w) }"},
};

const struct op_family ops_loss_family = {
    .name = "Losses", .rows = loss_rows, .n_rows = sizeof loss_rows / sizeof loss_rows[0]};
