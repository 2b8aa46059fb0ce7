// SPDX-License-Identifier: Apache-2.0
// Pooling on the device.
#include "ops/window.h"

#include "oracle/cuda/gpu_table.h"
#include "oracle/cuda/reduce.h"

#include "oracle/cuda/pool_args.h"

enum {
  GLOBAL_THREADS = 1 << 18, // enough for the device
  GLOBAL_LANES = 32,        // parts of a plane, at least: neighbouring threads read neighbouring elements
  GLOBAL_PARTS_MOST = 4096,
};
#define GLOBAL_PARTIALS ((int64_t)1 << 26) // in all

_Static_assert((int)POOL_DIMS >= (int)WINDOW_MAX_DIMS, "all spatial dimensions fit");

extern const char code_pool_args[], code_pool[];
static const struct device_code pool_code = {
    "pool", (const char *const[]){GPU_COMMON_TEXTS, code_pool_args, code_pool, NULL}, false};

static void pool_args_of(const struct gpu_eval *c, const struct window *w, struct pool_args *a) {
  const struct shape *x = &c->in[0]->shape;
  *a = (struct pool_args){.arith = gpu_arith_of(&c->arith),
                          .x = gpu_ref_of(c->in[0]),
                          .y = c->out[0].data,
                          .index = c->n_out > 1 ? c->out[1].data : 0,
                          .planes = x->dims[0] * x->dims[1],
                          .in_size = 1,
                          .out_size = 1,
                          .power = (double)node_int(c->node, "p", 2),
                          .nothing = c->in[0]->dtype == DTYPE_INT8 ? INT8_MIN : 0,
                          .n = w->n,
                          .count_padding = node_int(c->node, "count_include_pad", 0) != 0,
                          .column_major = node_int(c->node, "storage_order", 0) != 0};
  for (int d = 0; d < POOL_DIMS; d++)
    a->in[d] = a->out[d] = a->kernel[d] = a->stride[d] = a->dilation[d] = 1;
  for (int i = 0; i < w->n; i++) {
    int d = POOL_DIMS - w->n + i;
    a->in[d] = w->d[i].in;
    a->out[d] = w->d[i].out;
    a->kernel[d] = w->d[i].kernel;
    a->stride[d] = w->d[i].stride;
    a->dilation[d] = w->d[i].dilation;
    a->pad_begin[d] = w->d[i].pad_begin;
    a->pad_end[d] = w->d[i].pad_end;
    a->in_size *= w->d[i].in;
    a->out_size *= w->d[i].out;
  }
}

static enum assay_status pool_run(struct gpu_eval *c, const char *kernel, struct assay_error *err) {
  struct gpu_node_view v;
  struct window w;
  struct pool_args a;
  enum assay_status status = gpu_node_view_init(&v, c, 0, err);
  if (status)
    return status;
  status = window_read(&v.infer, NULL, &w, err);
  gpu_node_view_release(&v);
  if (status)
    return status;
  pool_args_of(c, &w, &a);
  return compute_launch(c->compute, &pool_code, kernel, a.planes * a.out_size, &a, sizeof a, err);
}

enum assay_status gpu_max_pool_eval(struct gpu_eval *c, struct assay_error *err) {
  return pool_run(c, dtype_is_float(c->in[0]->dtype) ? "pool_max" : "pool_max_integer", err);
}
enum assay_status gpu_average_pool_eval(struct gpu_eval *c, struct assay_error *err) {
  return pool_run(c, "pool_average", err);
}
enum assay_status gpu_lp_pool_eval(struct gpu_eval *c, struct assay_error *err) {
  return pool_run(c, "pool_power", err);
}

// One window over everything, in parts, so that a few large planes keep the device busy.
static enum assay_status global_run(struct gpu_eval *c, const char *part, const char *finish, struct assay_error *err) {
  const struct shape *x = &c->in[0]->shape;
  struct global_args a = {.arith = gpu_arith_of(&c->arith),
                          .x = gpu_ref_of(c->in[0]),
                          .y = c->out[0].data,
                          .planes = x->dims[0] * x->dims[1],
                          .size = shape_span(x, 2, x->rank),
                          .power = (double)node_int(c->node, "p", 2)};
  if (a.planes == 0)
    return ASSAY_OK;
  a.parts = GLOBAL_THREADS / a.planes;
  a.parts = a.parts < GLOBAL_LANES ? GLOBAL_LANES : a.parts > GLOBAL_PARTS_MOST ? GLOBAL_PARTS_MOST : a.parts;
  a.parts = a.parts > GLOBAL_PARTIALS / a.planes ? GLOBAL_PARTIALS / a.planes : a.parts;
  a.parts = a.parts > a.size ? a.size : a.parts;
  a.parts = a.parts < 1 ? 1 : a.parts;
  enum assay_status status = gpu_scratch(c, a.planes * a.parts, &a.part, err);
  if (!status)
    status = gpu_scratch(c, a.planes * a.parts, &a.part_t2, err);
  if (!status)
    status = compute_launch(c->compute, &pool_code, part, a.planes * a.parts, &a, sizeof a, err);
  return status ? status : compute_launch(c->compute, &pool_code, finish, a.planes, &a, sizeof a, err);
}

enum assay_status gpu_global_max_pool_eval(struct gpu_eval *c, struct assay_error *err) {
  return global_run(c, "global_max_part", "global_max", err);
}
// As reductions, which the CPU makes of them always, where what one accumulator loses counts.
static enum assay_status global_reduce(struct gpu_eval *c, enum gpu_term term, int finish, struct assay_error *err) {
  const struct shape *x = &c->in[0]->shape;
  struct gpu_reduction r = {.rows = gpu_rows_dense(x->dims[0] * x->dims[1], shape_span(x, 2, x->rank)),
                            .x = gpu_ref_of(c->in[0]),
                            .term = term,
                            .finish = finish,
                            .one_lane = 1,
                            .y = c->out[0].data};
  return r.rows.count > 0 ? gpu_reduce(c, &r, err) : ASSAY_OK;
}

enum assay_status gpu_global_average_pool_eval(struct gpu_eval *c, struct assay_error *err) {
  return c->arith.one_lane ? global_reduce(c, GPU_TERM_VALUE, REDUCE_FINISH_MEAN, err)
                           : global_run(c, "global_sum_part", "global_mean", err);
}
enum assay_status gpu_global_lp_pool_eval(struct gpu_eval *c, struct assay_error *err) {
  int64_t power = node_int(c->node, "p", 2);
  if (c->arith.one_lane && power == 1)
    return global_reduce(c, GPU_TERM_MAGNITUDE, REDUCE_FINISH_SUM, err);
  if (c->arith.one_lane && power == 2)
    return global_reduce(c, GPU_TERM_SQUARE, REDUCE_FINISH_ROOT, err);
  return global_run(c, "global_power_part", "global_root", err);
}
