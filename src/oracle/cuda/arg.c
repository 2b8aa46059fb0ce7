// SPDX-License-Identifier: Apache-2.0
// ArgMax, ArgMin and TopK on a device.
#include "oracle/cuda/reduce.h"

#include "oracle/cuda/arg_args.h"
#include "oracle/cuda/gpu_table.h"
#include "oracle/cuda/sort.h"

extern const char code_arg_args[], code_arg[];
static const struct device_code program = {"arg", (const char *const[]){GPU_ROWS_TEXTS, code_arg_args, code_arg, NULL},
                                           true};

enum {
  JOINED = 64,          // winners that one thread compares
  SORTED_SHARE = 4,     // TopK sorts as many rows at once as this part of the free memory holds
  SORTED_MOST = 1 << 28 // pairs
};

static struct arg_order order_of(enum dtype t, bool largest, bool nan_ahead) {
  return (struct arg_order){
      .is_float = dtype_is_float(t), .is_unsigned = t == DTYPE_UINT64, .largest = largest, .nan_ahead = nan_ahead};
}

// Joins winners in rounds; the last one leaves them in y.
static enum assay_status join(struct gpu_eval *c, const struct arg_args *a, device_ptr y, struct assay_error *err) {
  struct arg_join_args j = {.rows = a->rows,
                            .x = a->x,
                            .order = a->order,
                            .from = a->winners,
                            .row_fastest = a->row_fastest,
                            .last = a->last};
  device_ptr other = 0;
  enum assay_status status = ASSAY_OK;
  if (a->parts > JOINED)
    status = compute_alloc(c->compute, (size_t)(a->rows.count * ((a->parts + JOINED - 1) / JOINED)) * 8, &other, err);
  for (int64_t n = a->parts; n > 1 && !status; n = j.n_to) {
    j.n_from = n;
    j.n_to = n > JOINED ? (n + JOINED - 1) / JOINED : 1;
    j.to = j.n_to == 1 ? y : j.from == other ? a->winners : other;
    status = compute_launch(c->compute, &program, "arg_join", j.rows.count * j.n_to, &j, sizeof j, err);
    j.from = j.to;
  }
  compute_free(c->compute, other);
  return status;
}

enum assay_status gpu_arg(struct gpu_eval *c, const struct gpu_extreme *e, device_ptr y, struct assay_error *err) {
  const struct gpu_rows *rows = &e->rows;
  struct arg_args a = {.rows = *rows,
                       .x = e->x,
                       .order = order_of(e->dtype, e->largest, true), // for ArgMin too, as in NumPy
                       .winners = y,
                       .parts = gpu_reduce_parts(rows),
                       .row_fastest = gpu_rows_side_by_side(rows),
                       .last = e->last};
  device_ptr winners = 0;
  enum assay_status status = ASSAY_OK;
  if (a.parts > 1) {
    status = compute_alloc(c->compute, (size_t)(rows->count * a.parts) * 8, &winners, err);
    a.winners = winners;
  }
  if (!status)
    status = compute_launch(c->compute, &program, "arg_part", rows->count * a.parts, &a, sizeof a, err);
  if (!status)
    status = join(c, &a, y, err);
  compute_free(c->compute, winners);
  return status;
}

static enum assay_status arg_eval(struct gpu_eval *c, bool largest, struct assay_error *err) {
  int axis;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", 0), c->in[0]->shape.rank, &axis, err);
  if (status)
    return status;
  struct gpu_extreme e = {.rows = gpu_rows_of(&c->in[0]->shape, 1u << axis, NULL),
                          .x = gpu_ref_of(c->in[0]),
                          .dtype = c->in[0]->dtype,
                          .largest = largest,
                          .last = node_int(c->node, "select_last_index", 0) != 0};
  return gpu_arg(c, &e, c->out[0].data, err);
}

enum assay_status gpu_arg_max_eval(struct gpu_eval *c, struct assay_error *err) {
  return arg_eval(c, true, err);
}
enum assay_status gpu_arg_min_eval(struct gpu_eval *c, struct assay_error *err) {
  return arg_eval(c, false, err);
}

static enum assay_status top_k_rows(struct gpu_eval *c, struct top_k_args *a, int64_t rows, struct assay_error *err) {
  a->n = rows * a->padded;
  enum assay_status status = compute_launch(c->compute, &program, "top_k_fill", a->n, a, sizeof *a, err);
  if (!status)
    status = gpu_sort(c, a->keys, a->positions, rows, a->padded, err);
  if (!status)
    status = compute_launch(c->compute, &program, "top_k_take", rows * a->out.length, a, sizeof *a, err);
  return status;
}

// Whole rows are sorted, some of them at a time.
enum assay_status gpu_top_k_eval(struct gpu_eval *c, struct assay_error *err) {
  int axis;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", -1), c->in[0]->shape.rank, &axis, err);
  if (status)
    return status;
  bool largest = node_int(c->node, "largest", 1) != 0;
  struct top_k_args a = {.in = gpu_rows_of(&c->in[0]->shape, 1u << axis, NULL),
                         .out = gpu_rows_of(&c->out[0].shape, 1u << axis, NULL),
                         .x = gpu_ref_of(c->in[0]),
                         .order = order_of(c->in[0]->dtype, largest, largest),
                         .values = c->out[0].data,
                         .indices = c->n_out > 1 ? c->out[1].data : 0};
  if (a.in.count == 0 || a.out.length == 0)
    return ASSAY_OK;
  struct compute_memory memory;
  compute_memory(c->compute, &memory);
  a.padded = gpu_sort_padded(a.in.length);
  int64_t room = (int64_t)(memory.available / SORTED_SHARE / 16);
  int64_t at_once = (room < SORTED_MOST ? room : SORTED_MOST) / a.padded;
  at_once = at_once < 1 ? 1 : at_once > a.in.count ? a.in.count : at_once;
  status = gpu_scratch(c, at_once * a.padded, &a.keys, err);
  if (!status)
    status = gpu_scratch(c, at_once * a.padded, &a.positions, err);
  for (a.first = 0; a.first < a.in.count && !status; a.first += at_once)
    status = top_k_rows(c, &a, a.in.count - a.first < at_once ? a.in.count - a.first : at_once, err);
  return status;
}
