// SPDX-License-Identifier: Apache-2.0
// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss on a device.
#include "oracle/cuda/gpu_table.h"
#include "oracle/cuda/norm.h"

#include <string.h>

#include "oracle/cuda/loss_args.h"

extern const char code_loss_args[], code_loss[];
static const struct device_code program = {
    "loss", (const char *const[]){GPU_ROWS_TEXTS, code_loss_args, code_loss, NULL}, false};

enum { PHASE_MAX = 1, PHASE_LOG_SUM, PHASE_SUM, PHASE_WEIGHTS, PHASE_MEAN };

// The largest score of each row, and the logarithm of the sum of exponentials beneath it.
static enum assay_status normalizers(struct gpu_eval *c, struct loss_args *a, struct assay_error *err) {
  struct gpu_reduction r = {
      .rows = a->rows, .x = a->x, .term = GPU_TERM_MAX, .finish = REDUCE_FINISH_VALUE, .phase = PHASE_MAX};
  enum assay_status status = gpu_scratch(c, a->rows.count, &a->max, err);
  if (!status)
    status = gpu_scratch(c, a->rows.count, &a->log_sum, err);
  r.y = a->max;
  if (!status)
    status = gpu_reduce(c, &r, err);
  r.term = GPU_TERM_EXPONENTIAL;
  r.finish = REDUCE_FINISH_LOG;
  r.phase = PHASE_LOG_SUM;
  r.shift = a->max;
  r.y = a->log_sum;
  if (!status)
    status = gpu_reduce(c, &r, err);
  if (!status && a->log_probabilities)
    status = compute_launch(c->compute, &program, "loss_log_probabilities", a->walk.count, a, sizeof *a, err);
  return status;
}

static enum assay_status rows_run(struct gpu_eval *c, struct loss_args *a, struct assay_error *err) {
  int64_t bad = -1;
  enum assay_status status = gpu_bad_make(c, &a->bad, err);
  if (!status)
    status = compute_launch(c->compute, &program, "loss_rows", a->rows.count, a, sizeof *a, err);
  if (!status)
    status = gpu_bad_read(c, a->bad, &bad, err);
  if (!status && bad >= 0)
    return error_set(err, ASSAY_ERR_INVALID, "label %lld (element %lld) names none of the %lld classes",
                     (long long)gpu_input_integer(c, 1, bad), (long long)bad, (long long)a->rows.length);
  return status;
}

static enum assay_status total(struct gpu_eval *c, device_ptr of, int64_t n, int finish, uint64_t phase, device_ptr y,
                               struct assay_error *err) {
  struct gpu_reduction r = {.rows = gpu_rows_dense(1, n),
                            .x = gpu_ref_f64(of),
                            .term = GPU_TERM_VALUE,
                            .finish = finish,
                            .phase = phase,
                            .one_lane = 1,
                            .y = y};
  return gpu_reduce(c, &r, err);
}

// Without weights the divisor is a count, which is exact.
static enum assay_status mean(struct gpu_eval *c, const struct loss_args *a, struct assay_error *err) {
  struct loss_mean_args m = {.arith = gpu_arith_phase(c, PHASE_MEAN), .y = c->out[0].data};
  int weights = a->weights.data ? REDUCE_FINISH_SUM : REDUCE_FINISH_VALUE;
  enum assay_status status = gpu_scratch(c, 1, &m.sum, err);
  if (!status)
    status = gpu_scratch(c, 1, &m.by, err);
  if (!status)
    status = total(c, a->losses, a->rows.count, REDUCE_FINISH_SUM, PHASE_SUM, m.sum, err);
  if (!status)
    status = total(c, a->label_weights, a->rows.count, weights, PHASE_WEIGHTS, m.by, err);
  return status ? status : compute_launch(c->compute, &program, "loss_mean", 1, &m, sizeof m, err);
}

// softmax: the input is not logarithms of probabilities yet.
static enum assay_status loss_eval(struct gpu_eval *c, bool softmax, struct assay_error *err) {
  const struct shape *x = &c->in[0]->shape;
  const char *reduction = node_string(c->node, "reduction", "mean");
  bool none = strcmp(reduction, "none") == 0;
  int64_t row[SHAPE_MAX_RANK];
  gpu_row_numbers(x, 1u << 1, row);
  struct loss_args a = {.rows = gpu_rows_of(x, 1u << 1, NULL),
                        .walk = gpu_walk_of(x->rank, x->dims, 1, (const int64_t *const[]){row}),
                        .x = gpu_ref_of(c->in[0]),
                        .labels = gpu_ref_of(c->in[1]),
                        .weights = c->n_in > 2 && c->in[2] ? gpu_ref_of(c->in[2]) : gpu_ref_f64(0),
                        .arith = gpu_arith_phase(c, 0),
                        .log_probabilities = c->n_out > 1 ? c->out[1].data : 0,
                        .losses = c->out[0].data,
                        .has_ignored = node_attr(c->node, "ignore_index") != NULL,
                        .ignored = node_int(c->node, "ignore_index", 0)};
  enum assay_status status = ASSAY_OK;
  if (!none) {
    status = gpu_scratch(c, a.rows.count, &a.losses, err);
    if (!status)
      status = gpu_scratch(c, a.rows.count, &a.label_weights, err);
  }
  if (!status && softmax)
    status = normalizers(c, &a, err);
  if (!status)
    status = rows_run(c, &a, err);
  if (status || none)
    return status;
  if (strcmp(reduction, "sum") == 0)
    return total(c, a.losses, a.rows.count, REDUCE_FINISH_SUM, PHASE_SUM, c->out[0].data, err);
  return mean(c, &a, err);
}

enum assay_status gpu_nll_eval(struct gpu_eval *c, struct assay_error *err) {
  return loss_eval(c, false, err);
}
enum assay_status gpu_cross_entropy_eval(struct gpu_eval *c, struct assay_error *err) {
  return loss_eval(c, true, err);
}
