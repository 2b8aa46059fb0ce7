// SPDX-License-Identifier: Apache-2.0
// Normalizations on a device: what each operator's rows, factors and outputs are, as in ops/norm.c.
#include "oracle/cuda/norm.h"

#include "oracle/cuda/gpu_table.h"

extern const char code_norm_args[], code_norm[];
const struct device_code gpu_norm_program = {
    "norm", (const char *const[]){GPU_ROWS_TEXTS, code_norm_args, code_norm, NULL}, false};

enum { PHASE_MEAN = 1, PHASE_VARIANCE, PHASE_ROOT, PHASE_WRITE, PHASE_RUNNING_MEAN, PHASE_RUNNING_VARIANCE };

// (x - mean) / sqrt(variance + epsilon) * scale + bias over rows of any shape, as struct normalize (ops/normalize.h).
struct normalization {
  struct shape view; // the tensor, its dimensions split or merged as the operator needs
  unsigned axes;     // of the view; they run within a row
  bool center;
  double epsilon, epsilon_after;
  struct gpu_ref mean, variance; // given, one a row; data 0: the row's own
  struct gpu_ref scale, bias;    // data 0: none
  int64_t scale_strides[SHAPE_MAX_RANK], bias_strides[SHAPE_MAX_RANK];
  device_ptr y_mean, y_variance, y_inverse; // one a row; 0: not wanted
};

static enum assay_status moment(struct gpu_eval *c, const struct normalization *n, bool second, struct gpu_ref *out,
                                struct assay_error *err) {
  struct gpu_reduction r = {.rows = gpu_rows_of(&n->view, n->axes, NULL),
                            .x = gpu_ref_of(c->in[0]),
                            .finish = REDUCE_FINISH_MEAN,
                            .one_lane = ARITH_LOST_SHARED,
                            .phase = second ? PHASE_VARIANCE : PHASE_MEAN};
  r.term = !second ? GPU_TERM_VALUE : n->center ? GPU_TERM_DEVIATION : GPU_TERM_SQUARE;
  r.shift = n->mean.data;
  enum assay_status status = gpu_scratch(c, r.rows.count, &r.y, err);
  *out = gpu_ref_f64(r.y);
  return status ? status : gpu_reduce(c, &r, err);
}

static enum assay_status roots(struct gpu_eval *c, const struct normalization *n, device_ptr *root,
                               struct assay_error *err) {
  struct root_args a = {.mean = n->mean,
                        .variance = n->variance,
                        .arith = gpu_arith_phase(c, PHASE_ROOT),
                        .y_mean = n->y_mean,
                        .y_variance = n->y_variance,
                        .y_inverse = n->y_inverse,
                        .count = gpu_rows_of(&n->view, n->axes, NULL).count,
                        .epsilon = n->epsilon,
                        .epsilon_after = n->epsilon_after};
  enum assay_status status = gpu_scratch(c, a.count, root, err);
  a.root = *root;
  return status ? status : compute_launch(c->compute, &gpu_norm_program, "norm_roots", a.count, &a, sizeof a, err);
}

static enum assay_status run(struct gpu_eval *c, struct normalization *n, struct assay_error *err) {
  device_ptr root = 0;
  enum assay_status status = ASSAY_OK;
  if (n->center && !n->mean.data)
    status = moment(c, n, false, &n->mean, err);
  if (!status && !n->variance.data)
    status = moment(c, n, true, &n->variance, err);
  if (!status)
    status = roots(c, n, &root, err);
  if (status)
    return status;
  int64_t row[SHAPE_MAX_RANK];
  gpu_row_numbers(&n->view, n->axes, row);
  struct normalize_args a = {
      .walk =
          gpu_walk_of(n->view.rank, n->view.dims, 3, (const int64_t *const[]){row, n->scale_strides, n->bias_strides}),
      .x = gpu_ref_of(c->in[0]),
      .mean = n->center ? n->mean : gpu_ref_f64(0),
      .scale = n->scale,
      .bias = n->bias,
      .arith = gpu_arith_phase(c, PHASE_WRITE),
      .root = root,
      .y = c->out[0].data,
  };
  return compute_launch(c->compute, &gpu_norm_program, "norm_write", a.walk.count, &a, sizeof a, err);
}

// [N, C, D...] as [N, C, product of D]; [N] counts as one channel.
static struct shape channel_view(const struct shape *x) {
  int64_t channels = x->rank > 1 ? x->dims[1] : 1;
  return (struct shape){.rank = 3, .dims = {x->rank > 0 ? x->dims[0] : 1, channels, shape_span(x, 2, x->rank)}};
}

static struct gpu_ref input_of(const struct gpu_eval *c, int i) {
  return i < c->n_in && c->in[i] ? gpu_ref_of(c->in[i]) : gpu_ref_f64(0);
}

static device_ptr output_of(const struct gpu_eval *c, int i) {
  return i < c->n_out ? c->out[i].data : 0;
}

// ---- BatchNormalization

static enum assay_status update_running(struct gpu_eval *c, bool variance, device_ptr found, int64_t channels,
                                        struct assay_error *err) {
  struct running_args a = {.running = gpu_ref_of(c->in[variance ? 4 : 3]),
                           .arith = gpu_arith_phase(c, variance ? PHASE_RUNNING_VARIANCE : PHASE_RUNNING_MEAN),
                           .found = found,
                           .y = output_of(c, variance ? 2 : 1),
                           .n = channels,
                           .momentum = node_float(c->node, "momentum", 0.9)};
  enum assay_status status = ASSAY_OK;
  if (a.y)
    status = compute_launch(c->compute, &gpu_norm_program, "norm_running", a.n, &a, sizeof a, err);
  device_ptr batch = output_of(c, variance ? 4 : 3);
  if (!status && batch && channels > 0)
    status = compute_copy(c->compute, batch, found, (size_t)channels * sizeof(double), err);
  return status;
}

enum assay_status gpu_batch_norm_eval(struct gpu_eval *c, struct assay_error *err) {
  struct normalization n = {.view = channel_view(&c->in[0]->shape),
                            .axes = 1u << 0 | 1u << 2,
                            .center = true,
                            .epsilon = node_float(c->node, "epsilon", 1e-5),
                            .scale = gpu_ref_of(c->in[1]),
                            .bias = gpu_ref_of(c->in[2]),
                            .scale_strides = {0, 1, 0},
                            .bias_strides = {0, 1, 0}};
  int64_t channels = n.view.dims[1];
  // Up to version 9 more than one output means training; from 14 on an attribute says so.
  bool trains = c->node->op->since < 14 ? c->n_out > 1 : node_int(c->node, "training_mode", 0) != 0;
  if (!trains) {
    n.mean = gpu_ref_of(c->in[3]);
    n.variance = gpu_ref_of(c->in[4]);
    return run(c, &n, err);
  }
  enum assay_status status = gpu_scratch(c, channels, &n.y_mean, err);
  if (!status)
    status = gpu_scratch(c, channels, &n.y_variance, err);
  if (!status)
    status = run(c, &n, err);
  if (!status)
    status = update_running(c, false, n.y_mean, channels, err);
  return status ? status : update_running(c, true, n.y_variance, channels, err);
}

// ---- InstanceNormalization and GroupNormalization

enum assay_status gpu_instance_norm_eval(struct gpu_eval *c, struct assay_error *err) {
  struct normalization n = {.view = channel_view(&c->in[0]->shape),
                            .axes = 1u << 2,
                            .center = true,
                            .epsilon = node_float(c->node, "epsilon", 1e-5),
                            .scale = gpu_ref_of(c->in[1]),
                            .bias = gpu_ref_of(c->in[2]),
                            .scale_strides = {0, 1, 0},
                            .bias_strides = {0, 1, 0}};
  return run(c, &n, err);
}

enum assay_status gpu_group_norm_eval(struct gpu_eval *c, struct assay_error *err) {
  struct shape x = channel_view(&c->in[0]->shape);
  int64_t groups = node_int(c->node, "num_groups", 1), members = x.dims[1] / groups;
  struct normalization n = {.view = {.rank = 4, .dims = {x.dims[0], groups, members, x.dims[2]}},
                            .axes = 1u << 2 | 1u << 3,
                            .center = true,
                            .epsilon = node_float(c->node, "epsilon", 1e-5),
                            .scale = gpu_ref_of(c->in[1]),
                            .bias = gpu_ref_of(c->in[2])};
  bool by_group = c->node->op->since < 21;
  n.scale_strides[1] = n.bias_strides[1] = by_group ? 1 : members;
  n.scale_strides[2] = n.bias_strides[2] = by_group ? 0 : 1;
  return run(c, &n, err);
}

// ---- LayerNormalization and RMSNormalization

static enum assay_status trailing_norm(struct gpu_eval *c, bool center, struct assay_error *err) {
  const struct shape *x = &c->in[0]->shape;
  int axis;
  struct normalization n = {.view = *x,
                            .center = center,
                            .epsilon = node_float(c->node, "epsilon", 1e-5),
                            .scale = input_of(c, 1),
                            .bias = input_of(c, 2),
                            .y_mean = output_of(c, 1),
                            .y_inverse = output_of(c, 2)};
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", -1), x->rank, &axis, err);
  if (status)
    return status;
  n.axes = ((1u << x->rank) - 1) & ~((1u << axis) - 1);
  if (n.scale.data)
    shape_broadcast_strides(&c->in[1]->shape, x, n.scale_strides);
  if (n.bias.data)
    shape_broadcast_strides(&c->in[2]->shape, x, n.bias_strides);
  return run(c, &n, err);
}

enum assay_status gpu_layer_norm_eval(struct gpu_eval *c, struct assay_error *err) {
  return trailing_norm(c, true, err);
}
enum assay_status gpu_rms_norm_eval(struct gpu_eval *c, struct assay_error *err) {
  return trailing_norm(c, false, err);
}

// ---- MeanVarianceNormalization: 1e-9 is added to the root, as in ONNX's function body

enum assay_status gpu_mvn_eval(struct gpu_eval *c, struct assay_error *err) {
  static const int64_t fallback[] = {0, 2, 3};
  const struct attr *attr = node_attr(c->node, "axes");
  const int64_t *axes = attr ? attr->ints : fallback;
  int count = attr ? (int)attr->count : 3, axis;
  struct normalization n = {.view = c->in[0]->shape, .center = true, .epsilon_after = 1e-9};
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < count && !status; i++) {
    status = op_axis(c->node, axes[i], n.view.rank, &axis, err);
    if (!status)
      n.axes |= 1u << axis;
  }
  return status ? status : run(c, &n, err);
}

// ---- LpNormalization and LRN

enum assay_status gpu_lp_normalization_eval(struct gpu_eval *c, struct assay_error *err) {
  const struct shape *x = &c->in[0]->shape;
  bool squares = node_int(c->node, "p", 2) == 2;
  int axis;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", -1), x->rank, &axis, err);
  if (status)
    return status;
  struct gpu_reduction r = {.rows = gpu_rows_of(x, 1u << axis, NULL),
                            .x = gpu_ref_of(c->in[0]),
                            .term = squares ? GPU_TERM_SQUARE : GPU_TERM_MAGNITUDE,
                            .finish = squares ? REDUCE_FINISH_ROOT : REDUCE_FINISH_SUM,
                            .phase = PHASE_MEAN};
  status = gpu_scratch(c, r.rows.count, &r.y, err);
  if (!status)
    status = gpu_reduce(c, &r, err);
  if (status)
    return status;
  int64_t row[SHAPE_MAX_RANK];
  gpu_row_numbers(x, 1u << axis, row);
  struct softmax_args a = {.walk = gpu_walk_of(x->rank, x->dims, 1, (const int64_t *const[]){row}),
                           .x = r.x,
                           .arith = gpu_arith_phase(c, PHASE_WRITE),
                           .by = r.y,
                           .y = c->out[0].data};
  return compute_launch(c->compute, &gpu_norm_program, "lp_finish", a.walk.count, &a, sizeof a, err);
}

enum assay_status gpu_lrn_eval(struct gpu_eval *c, struct assay_error *err) {
  const struct shape *x = &c->in[0]->shape;
  int64_t size = node_int(c->node, "size", 1);
  struct lrn_args a = {.x = gpu_ref_of(c->in[0]),
                       .arith = gpu_arith_phase(c, 0),
                       .y = c->out[0].data,
                       .count = shape_count(x),
                       .channels = x->dims[1],
                       .inner = shape_span(x, 2, x->rank),
                       .before = (size - 1) / 2,
                       .after = size - 1 - (size - 1) / 2,
                       .alpha = node_float(c->node, "alpha", 1e-4),
                       .beta = node_float(c->node, "beta", 0.75),
                       .bias = node_float(c->node, "bias", 1),
                       .size = (double)size};
  return compute_launch(c->compute, &gpu_norm_program, "lrn", a.count, &a, sizeof a, err);
}
