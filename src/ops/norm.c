// SPDX-License-Identifier: Apache-2.0
// Normalizations: what each operator's rows, factors and outputs are. The moments are taken in normalize.c.
#include <string.h>

#include "base/parallel.h"
#include "ops/apart.h"
#include "ops/families.h"
#include "ops/loops.h"
#include "ops/norm_power.h"
#include "ops/normalize.h"
#include "ops/pytorch.h"

static enum assay_status need_floats(const struct op_infer *c, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < c->n_in && !status; i++)
    status = loops_need_float(c, i, err);
  return status;
}

// An input that must be a vector of one value for each channel (or group).
static enum assay_status need_vector(const struct op_infer *c, int i, int64_t n, struct assay_error *err) {
  char text[SHAPE_TEXT_BYTES];
  if (op_has(c, i) && (c->in[i]->shape.rank != 1 || c->in[i]->shape.dims[0] != n))
    return op_invalid(c->node, err, "input %d has shape %s, not [%lld]", i, shape_text(&c->in[i]->shape, text),
                      (long long)n);
  return ASSAY_OK;
}

static void set_output(struct op_infer *c, int i, enum dtype dtype, const struct shape *shape) {
  if (i >= c->n_out)
    return;
  c->out[i].dtype = dtype;
  c->out[i].shape = *shape;
}

static void cost_seven(const struct op_infer *c, struct op_cost *cost) {
  cost->flops = 7 * (double)shape_count(&c->in[0]->shape); // sum, difference, square, sum, division, scale, bias
}

// [N, C, D...] as [N, C, product of D]; [N] counts as one channel.
static struct shape channel_view(const struct shape *x) {
  int64_t channels = x->rank > 1 ? x->dims[1] : 1;
  return (struct shape){.rank = 3, .dims = {x->rank > 0 ? x->dims[0] : 1, channels, shape_span(x, 2, x->rank)}};
}

static const double *values_of(const struct op_eval *c, int i) {
  return i < c->n_in && c->in[i] ? c->in[i]->f64 : NULL;
}

static double *result_of(const struct op_eval *c, int i) {
  return i < c->n_out ? c->out[i].f64 : NULL;
}

// BatchNormalization. Up to version 9 more than one output means training; from 14 on an attribute says so.

static bool batch_norm_trains(const struct node *node, int n_out) {
  return node->op->since < 14 ? n_out > 1 : node_int(node, "training_mode", 0) != 0;
}

static enum assay_status batch_norm_infer(struct op_infer *c, struct assay_error *err) {
  const struct shape *x = &c->in[0]->shape;
  int64_t channels = x->rank > 1 ? x->dims[1] : 1;
  struct shape vector = {.rank = 1, .dims = {channels}};
  enum assay_status status = need_floats(c, err);
  for (int i = 1; i < 5 && !status; i++)
    status = need_vector(c, i, channels, err);
  if (status)
    return status;
  if (node_int(c->node, "spatial", 1) != 1)
    return op_unsupported(c->node, err, "spatial = 0 (statistics for each element) is not supported");
  if (c->n_out > 1 && !batch_norm_trains(c->node, c->n_out))
    return op_invalid(c->node, err, "only one output is made without training_mode = 1");
  set_output(c, 0, c->in[0]->dtype, x);
  for (int i = 1; i < c->n_out; i++)
    set_output(c, i, c->in[i % 2 ? 3 : 4]->dtype, &vector);
  return ASSAY_OK;
}

// running * momentum + found * (1 - momentum).
static void update_running(const struct arith *a, double momentum, int64_t n, const double *running,
                           const double *found, uint64_t stream, double *out) {
  struct noise noise = noise_at(a->key ^ stream, (uint64_t)n);
  for (int64_t i = 0; i < n && out; i++) {
    double kept = arith_round(a, &noise, running[i] * momentum);
    out[i] = arith_round(a, &noise, kept + arith_round(a, &noise, found[i] * (1 - momentum)));
  }
}

static enum assay_status batch_norm_eval(struct op_eval *c, struct assay_error *err) {
  struct normalize n = {.arith = &c->arith,
                        .threads = c->threads,
                        .view = channel_view(&c->in[0]->shape),
                        .axes = 1u << 0 | 1u << 2,
                        .x = c->in[0]->f64,
                        .y = c->out[0].f64,
                        .center = true,
                        .epsilon = node_float(c->node, "epsilon", 1e-5),
                        .scale = {.values = c->in[1]->f64, .strides = {0, 1, 0}},
                        .bias = {.values = c->in[2]->f64, .strides = {0, 1, 0}}};
  int64_t channels = n.view.dims[1];
  if (!batch_norm_trains(c->node, c->n_out)) {
    n.given_mean = c->in[3]->f64;
    n.given_variance = c->in[4]->f64;
    normalize_run(&n);
    return ASSAY_OK;
  }
  double *moments = arena_calloc(c->scratch, (size_t)channels * 2 + 1, sizeof *moments);
  if (!moments)
    return error_nomem(err, "a batch's moments");
  n.mean = moments;
  n.variance = moments + channels;
  normalize_run(&n);
  double momentum = node_float(c->node, "momentum", 0.9);
  update_running(&c->arith, momentum, channels, c->in[3]->f64, n.mean, 1, result_of(c, 1));
  update_running(&c->arith, momentum, channels, c->in[4]->f64, n.variance, 2, result_of(c, 2));
  for (int i = 3; i < 5; i++)
    if (result_of(c, i))
      memcpy(result_of(c, i), i == 3 ? n.mean : n.variance, (size_t)channels * sizeof(double));
  return ASSAY_OK;
}

static int64_t batch_norm_moments(const struct op_infer *c) {
  return batch_norm_trains(c->node, c->n_out) ? channel_view(&c->in[0]->shape).dims[1] : 0;
}

// InstanceNormalization: moments of every channel of every image.

static enum assay_status instance_norm_infer(struct op_infer *c, struct assay_error *err) {
  enum assay_status status = need_floats(c, err);
  if (!status && c->in[0]->shape.rank < 3)
    return op_invalid(c->node, err, "the input must have at least 3 dimensions (N, C, D1, ...), not %d",
                      c->in[0]->shape.rank);
  for (int i = 1; i < 3 && !status; i++)
    status = need_vector(c, i, c->in[0]->shape.dims[1], err);
  return status ? status : op_infer_same(c, err);
}

static enum assay_status instance_norm_eval(struct op_eval *c, struct assay_error *err) {
  (void)err;
  struct normalize n = {.arith = &c->arith,
                        .threads = c->threads,
                        .view = channel_view(&c->in[0]->shape),
                        .axes = 1u << 2,
                        .x = c->in[0]->f64,
                        .y = c->out[0].f64,
                        .center = true,
                        .epsilon = node_float(c->node, "epsilon", 1e-5),
                        .scale = {.values = c->in[1]->f64, .strides = {0, 1, 0}},
                        .bias = {.values = c->in[2]->f64, .strides = {0, 1, 0}}};
  normalize_run(&n);
  return ASSAY_OK;
}

static int64_t instance_norm_moments(const struct op_infer *c) {
  return shape_span(&c->in[0]->shape, 0, 2);
}

// GroupNormalization: scale and bias are one a group in version 18 and one a channel from 21 on.

static enum assay_status group_norm_infer(struct op_infer *c, struct assay_error *err) {
  const struct shape *x = &c->in[0]->shape;
  int64_t groups = node_int(c->node, "num_groups", 0);
  enum assay_status status = need_floats(c, err);
  if (status)
    return status;
  if (x->rank < 2 || groups < 1 || x->dims[1] % groups != 0)
    return op_invalid(c->node, err, "num_groups = %lld does not divide the input's channels", (long long)groups);
  for (int i = 1; i < 3 && !status; i++)
    status = need_vector(c, i, c->node->op->since < 21 ? groups : x->dims[1], err);
  return status ? status : op_infer_same(c, err);
}

static enum assay_status group_norm_eval(struct op_eval *c, struct assay_error *err) {
  (void)err;
  struct shape x = channel_view(&c->in[0]->shape);
  int64_t groups = node_int(c->node, "num_groups", 1), members = x.dims[1] / groups;
  struct normalize n = {.arith = &c->arith,
                        .threads = c->threads,
                        .view = {.rank = 4, .dims = {x.dims[0], groups, members, x.dims[2]}},
                        .axes = 1u << 2 | 1u << 3,
                        .x = c->in[0]->f64,
                        .y = c->out[0].f64,
                        .center = true,
                        .epsilon = node_float(c->node, "epsilon", 1e-5),
                        .scale = {.values = c->in[1]->f64},
                        .bias = {.values = c->in[2]->f64}};
  bool by_group = c->node->op->since < 21;
  n.scale.strides[1] = n.bias.strides[1] = by_group ? 1 : members;
  n.scale.strides[2] = n.bias.strides[2] = by_group ? 0 : 1;
  normalize_run(&n);
  return ASSAY_OK;
}

static int64_t group_norm_moments(const struct op_infer *c) {
  return c->in[0]->shape.dims[0] * node_int(c->node, "num_groups", 1);
}

// The rows of the input that run along these axes.
static int64_t rows_along(const struct op_infer *c, unsigned axes) {
  struct rows rows;
  rows_init(&rows, &c->in[0]->shape, axes, NULL);
  return rows.count;
}

// LayerNormalization and RMSNormalization: moments over the trailing dimensions from `axis` on.

static enum assay_status trailing_axes(const struct op_infer *c, unsigned *axes, struct assay_error *err) {
  int rank = c->in[0]->shape.rank, axis;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", -1), rank, &axis, err);
  if (!status)
    *axes = ((1u << rank) - 1) & ~((1u << axis) - 1);
  return status;
}

static enum assay_status trailing_norm_infer(struct op_infer *c, struct assay_error *err) {
  const struct shape *x = &c->in[0]->shape;
  char ts[SHAPE_TEXT_BYTES], tx[SHAPE_TEXT_BYTES];
  unsigned axes;
  enum assay_status status = need_floats(c, err);
  if (!status)
    status = trailing_axes(c, &axes, err);
  if (status)
    return status;
  for (int i = 1; i < c->n_in; i++) {
    struct shape joint;
    if (op_has(c, i) && (shape_broadcast(&c->in[i]->shape, x, &joint, NULL) != ASSAY_OK || !shape_equal(&joint, x)))
      return op_invalid(c->node, err, "input %d of shape %s does not broadcast to %s", i,
                        shape_text(&c->in[i]->shape, ts), shape_text(x, tx));
  }
  struct shape moments = *x;
  for (int i = 0; i < x->rank; i++)
    if (axes >> i & 1)
      moments.dims[i] = 1;
  set_output(c, 0, c->in[0]->dtype, x);
  // stash_type: the precision of the moments, which are outputs too.
  enum dtype stash;
  if (!dtype_by_number(node_int(c->node, "stash_type", 1), &stash) || !dtype_is_float(stash))
    return op_invalid(c->node, err, "stash_type must name a floating type");
  set_output(c, 1, stash, &moments);
  set_output(c, 2, stash, &moments);
  return ASSAY_OK;
}

static void set_affine(const struct op_eval *c, int i, struct affine *f) {
  f->values = values_of(c, i);
  if (f->values)
    shape_broadcast_strides(&c->in[i]->shape, &c->in[0]->shape, f->strides);
}

static enum assay_status trailing_norm(struct op_eval *c, bool center, struct assay_error *err) {
  struct op_infer as_infer = op_infer_of(c);
  struct normalize n = {.arith = &c->arith,
                        .threads = c->threads,
                        .view = c->in[0]->shape,
                        .x = c->in[0]->f64,
                        .y = c->out[0].f64,
                        .center = center,
                        .epsilon = node_float(c->node, "epsilon", 1e-5),
                        .mean = result_of(c, 1),
                        .inverse = result_of(c, 2)};
  enum assay_status status = trailing_axes(&as_infer, &n.axes, err);
  if (status)
    return status;
  set_affine(c, 1, &n.scale);
  set_affine(c, 2, &n.bias);
  normalize_run(&n);
  return ASSAY_OK;
}

static int64_t trailing_moments(const struct op_infer *c) {
  unsigned axes;
  return trailing_axes(c, &axes, NULL) ? 0 : rows_along(c, axes);
}

static bool trailing_apart(const struct op_infer *c, const bool *apart, int64_t *halo) {
  unsigned axes;
  (void)halo;
  for (int i = 1; i < c->n_in; i++) // as long as the input itself, a factor would have a batch, too
    if (op_has(c, i) && c->in[i]->shape.rank == c->in[0]->shape.rank && c->in[i]->shape.dims[0] != 1)
      return false;
  return trailing_axes(c, &axes, NULL) == ASSAY_OK && op_apart_along(c, apart, axes);
}

static enum assay_status layer_norm_eval(struct op_eval *c, struct assay_error *err) {
  return trailing_norm(c, true, err);
}

static enum assay_status rms_norm_eval(struct op_eval *c, struct assay_error *err) {
  return trailing_norm(c, false, err);
}

// MeanVarianceNormalization: moments over `axes`; 1e-9 is added to the root, as in ONNX's function body.

static enum assay_status mvn_axes(const struct op_infer *c, unsigned *axes, struct assay_error *err) {
  int64_t values[SHAPE_MAX_RANK] = {0, 2, 3};
  int count, axis;
  *axes = 0;
  enum assay_status status = op_ints(c, -1, "axes", values, &count, SHAPE_MAX_RANK, err);
  if (count < 0)
    count = 3;
  for (int i = 0; i < count && !status; i++) {
    status = op_axis(c->node, values[i], c->in[0]->shape.rank, &axis, err);
    if (!status)
      *axes |= 1u << axis;
  }
  return status;
}

static int64_t mvn_moments(const struct op_infer *c) {
  unsigned axes;
  return mvn_axes(c, &axes, NULL) ? 0 : rows_along(c, axes);
}

static enum assay_status mvn_infer(struct op_infer *c, struct assay_error *err) {
  unsigned axes;
  enum assay_status status = need_floats(c, err);
  if (!status)
    status = mvn_axes(c, &axes, err);
  return status ? status : op_infer_same(c, err);
}

static enum assay_status mvn_eval(struct op_eval *c, struct assay_error *err) {
  struct op_infer as_infer = op_infer_of(c);
  struct normalize n = {.arith = &c->arith,
                        .threads = c->threads,
                        .view = c->in[0]->shape,
                        .x = c->in[0]->f64,
                        .y = c->out[0].f64,
                        .center = true,
                        .epsilon_after = 1e-9};
  enum assay_status status = mvn_axes(&as_infer, &n.axes, err);
  if (!status)
    normalize_run(&n);
  return status;
}

static const struct op_attr batch_norm_attrs_7[] = {
    {"epsilon", ATTR_FLOAT, false, "1e-5"},
    {"momentum", ATTR_FLOAT, false, "0.9"},
    {"spatial", ATTR_INT, false, "1"},
    {NULL, 0, false, NULL},
};
static const struct op_attr batch_norm_attrs_9[] = {
    {"epsilon", ATTR_FLOAT, false, "1e-5"},
    {"momentum", ATTR_FLOAT, false, "0.9"},
    {NULL, 0, false, NULL},
};
static const struct op_attr batch_norm_attrs_14[] = {
    {"epsilon", ATTR_FLOAT, false, "1e-5"},
    {"momentum", ATTR_FLOAT, false, "0.9"},
    {"training_mode", ATTR_INT, false, "0"},
    {NULL, 0, false, NULL},
};
static const struct op_attr instance_norm_attrs[] = {
    {"epsilon", ATTR_FLOAT, false, "1e-5"},
    {NULL, 0, false, NULL},
};
static const struct op_attr group_norm_attrs_18[] = {
    {"epsilon", ATTR_FLOAT, false, "1e-5"},
    {"num_groups", ATTR_INT, true, NULL},
    {NULL, 0, false, NULL},
};
static const struct op_attr group_norm_attrs_21[] = {
    {"epsilon", ATTR_FLOAT, false, "1e-5"},
    {"num_groups", ATTR_INT, true, NULL},
    {"stash_type", ATTR_INT, false, "1"},
    {NULL, 0, false, NULL},
};
static const struct op_attr trailing_norm_attrs[] = {
    {"axis", ATTR_INT, false, "-1"},
    {"epsilon", ATTR_FLOAT, false, "1e-5"},
    {"stash_type", ATTR_INT, false, "1"},
    {NULL, 0, false, NULL},
};
static const struct op_attr lp_attrs[] = {
    {"axis", ATTR_INT, false, "-1"},
    {"p", ATTR_INT, false, "2"},
    {NULL, 0, false, NULL},
};
static const struct op_attr lrn_attrs[] = {
    {"alpha", ATTR_FLOAT, false, "1e-4"},
    {"beta", ATTR_FLOAT, false, "0.75"},
    {"bias", ATTR_FLOAT, false, "1"},
    {"size", ATTR_INT, true, NULL},
    {NULL, 0, false, NULL},
};
static const struct op_attr mvn_attrs[] = {{"axes", ATTR_INTS, false, "[0, 2, 3]"}, {NULL, 0, false, NULL}};

#define NORM(op, version, in_least, in_most, out_most, infer_fn, eval_fn)                                              \
  .name = op, .domain = "", .since = version, .min_in = in_least, .max_in = in_most, .min_out = 1,                     \
  .max_out = out_most, .class = OP_NORMALIZATION, .infer = infer_fn, .eval = eval_fn, .cost = cost_seven,              \
  .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY}

static const struct op_def norm_rows[] = {
    {NORM("BatchNormalization", 7, 5, 5, 5, batch_norm_infer, batch_norm_eval), .attrs = batch_norm_attrs_7,
     .moments = batch_norm_moments, .pytorch = {.write = pytorch_batch_norm},
     .doc = "As in version 9; spatial must be 1."},
    {NORM("BatchNormalization", 9, 5, 5, 5, batch_norm_infer, batch_norm_eval), .attrs = batch_norm_attrs_9,
     .moments = batch_norm_moments, .pytorch = {.write = pytorch_batch_norm},
     .doc =
         "(x - mean) / sqrt(var + epsilon) * scale + bias for each channel. With more than one output it trains: the "
         "batch's own moments are used, outputs 1 and 2 are the running ones, outputs 3 and 4 the batch's."},
    {NORM("BatchNormalization", 14, 5, 5, 3, batch_norm_infer, batch_norm_eval), .attrs = batch_norm_attrs_14,
     .moments = batch_norm_moments, .pytorch = {.write = pytorch_batch_norm},
     .doc = "(x - mean) / sqrt(var + epsilon) * scale + bias for each channel. With training_mode = 1 the batch's own "
            "moments (variance over N) are used; outputs 1 and 2 are running * momentum + batch * (1 - momentum).",
     .example = "(float[2,3,4,5] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[2,3,4,5] y) "
                "{ y = BatchNormalization(x, s, b, m, v) }\n"
                "(float[2,3,4,5] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[2,3,4,5] y, float[3] rm, "
                "float[3] rv) { y, rm, rv = BatchNormalization<training_mode = 1>(x, s, b, m, v) }"},
    {NORM("InstanceNormalization", 6, 3, 3, 1, instance_norm_infer, instance_norm_eval), .attrs = instance_norm_attrs,
     .apart = op_apart_first, .moments = instance_norm_moments,
     .pytorch = {.text = "F.instance_norm($0, weight=$1, bias=$2, eps={epsilon})"},
     .doc = "(x - mean) / sqrt(var + epsilon) * scale + bias with the moments of every channel of every image.",
     .example = "(float[2,3,4,5] x, float[3] s, float[3] b) => (float[2,3,4,5] y) "
                "{ y = InstanceNormalization<epsilon = 0.01>(x, s, b) }"},
    {NORM("GroupNormalization", 18, 3, 3, 1, group_norm_infer, group_norm_eval), .attrs = group_norm_attrs_18,
     .apart = op_apart_first, .moments = group_norm_moments,
     .pytorch = {.text = "F.group_norm($0, {num_groups}, $1, $2, eps={epsilon})"},
     .doc = "As in version 21, but scale and bias hold one value a group."},
    {NORM("GroupNormalization", 21, 3, 3, 1, group_norm_infer, group_norm_eval), .attrs = group_norm_attrs_21,
     .apart = op_apart_first, .moments = group_norm_moments,
     .pytorch = {.text = "F.group_norm($0, {num_groups}, $1, $2, eps={epsilon})"},
     .doc = "(x - mean) / sqrt(var + epsilon) * scale + bias with the moments of num_groups groups of neighbouring "
            "channels of every image; scale and bias hold one value a channel.",
     .example = "(float[2,6,4,5] x, float[6] s, float[6] b) => (float[2,6,4,5] y) "
                "{ y = GroupNormalization<num_groups = 3>(x, s, b) }"},
    {NORM("LayerNormalization", 17, 2, 3, 3, trailing_norm_infer, layer_norm_eval), .attrs = trailing_norm_attrs,
     .apart = trailing_apart, .moments = trailing_moments,
     .pytorch = {.text = "F.layer_norm", .write = pytorch_layer_norm},
     .doc =
         "(x - mean) / sqrt(var + epsilon) * scale + bias with moments over the dimensions from `axis` on. Outputs 1 "
         "and 2 are the means and 1 / sqrt(var + epsilon).",
     .example = "(float[2,3,4] x, float[4] s, float[4] b) => (float[2,3,4] y) { y = LayerNormalization(x, s, b) }\n"
                "(float[2,3,4] x, float[3,4] s) => (float[2,3,4] y, float[2,1,1] m, float[2,1,1] i) "
                "{ y, m, i = LayerNormalization<axis = 1>(x, s) }"},
    {NORM("RMSNormalization", 23, 2, 2, 1, trailing_norm_infer, rms_norm_eval), .attrs = trailing_norm_attrs,
     .apart = trailing_apart, .moments = trailing_moments,
     .pytorch = {.text = "F.rms_norm", .write = pytorch_layer_norm},
     .doc = "x / sqrt(mean(x^2) + epsilon) * scale over the dimensions from `axis` on.",
     .example = "(float[2,3,4] x, float[4] s) => (float[2,3,4] y) { y = RMSNormalization(x, s) }"},
    {NORM("MeanVarianceNormalization", 9, 1, 1, 1, mvn_infer, mvn_eval), .attrs = mvn_attrs, .moments = mvn_moments,
     .pytorch = {.none = "PyTorch has no such function"},
     .doc = "(x - mean) / (sqrt(var) + 1e-9) with moments over `axes`.",
     .example = "(float[2,3,4,5] x) => (float[2,3,4,5] y) { y = MeanVarianceNormalization(x) }"},
    {.name = "LpNormalization",
     .domain = "",
     .since = 1,
     .min_in = 1,
     .max_in = 1,
     .min_out = 1,
     .max_out = 1,
     .class = OP_NORMALIZATION,
     .attrs = lp_attrs,
     .infer = lp_normalization_infer,
     .eval = lp_normalization_eval,
     .cost = lp_normalization_cost,
     .apart = lp_normalization_apart,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY},
     .pytorch = {.none = PYTORCH_NOT_WRITTEN},
     .doc = "x over its 1-norm or 2-norm along an axis; zeros stay zeros.",
     .example = "(float[2,3,4] x) => (float[2,3,4] y) { y = LpNormalization<axis = 1, p = 1>(x) }"},
    {.name = "LRN",
     .domain = "",
     .since = 1,
     .min_in = 1,
     .max_in = 1,
     .min_out = 1,
     .max_out = 1,
     .class = OP_NORMALIZATION,
     .attrs = lrn_attrs,
     .infer = lrn_infer,
     .eval = lrn_eval,
     .cost = lrn_cost,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY},
     .pytorch = {.none = PYTORCH_NOT_WRITTEN},
     .doc = "x / (bias + alpha / size * sum of squares over `size` neighbouring channels)^beta.",
     .example = "(float[2,6,3,3] x) => (float[2,6,3,3] y) { y = LRN<size = 3, alpha = 0.1>(x) }"},
};

const struct op_family ops_norm_family = {
    .name = "Normalization", .rows = norm_rows, .n_rows = sizeof norm_rows / sizeof norm_rows[0]};
