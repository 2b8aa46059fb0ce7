// SPDX-License-Identifier: Apache-2.0
// Quantization on a device.
#include "ops/quantize.h"

#include "oracle/cuda/convert.h"
#include "oracle/cuda/gpu_table.h"
#include "oracle/cuda/quantize_args.h"
#include "oracle/cuda/reduce.h"

extern const char code_convert_args[], code_narrow[], code_quantize_args[], code_quantize[];
static const struct device_code program = {
    "quantize",
    (const char *const[]){GPU_COMMON_TEXTS, code_convert_args, code_narrow, code_quantize_args, code_quantize, NULL},
    false};

static enum assay_status launch(struct gpu_eval *c, const char *kernel, struct quantize_args *a,
                                struct assay_error *err) {
  enum dtype to = c->out[0].dtype;
  a->x = gpu_ref_of(c->in[0]);
  a->arith = gpu_arith_of(&c->arith);
  a->y = c->out[0].data;
  a->count = shape_count(&c->out[0].shape);
  a->to_float = dtype_is_float(to);
  if (a->to_float) {
    struct narrowing n = narrowing_of(to, node_int(c->node, "saturate", 1) != 0, &c->arith);
    a->narrowing = gpu_narrowing_of(&n);
  } else {
    quantize_range(to, &a->low, &a->high);
  }
  return compute_launch(c->compute, &program, kernel, a->count, a, sizeof *a, err);
}

static enum assay_status run(struct gpu_eval *c, const char *kernel, struct assay_error *err) {
  struct gpu_node_view v;
  struct quantize_groups g;
  enum dtype precision = DTYPE_FLOAT;
  enum assay_status status = gpu_node_view_init(&v, c, 0, err);
  if (!status)
    status = quantize_groups_read(&v.infer, &g, err);
  if (!status)
    status = quantize_precision(&v.infer, &precision, err);
  gpu_node_view_release(&v);
  if (status)
    return status;
  struct quantize_args a = {
      .quotient = convert_type_of(precision),
      .scale = gpu_ref_of(c->in[1]),
      .scales = {.inner = g.inner, .extent = g.extent, .groups = g.groups, .block = g.block, .per_axis = g.per_axis}};
  if (c->n_in > 2 && c->in[2])
    a.zero = gpu_ref_of(c->in[2]);
  return launch(c, kernel, &a, err);
}

enum assay_status gpu_quantize_eval(struct gpu_eval *c, struct assay_error *err) {
  return run(c, "quantize", err);
}
enum assay_status gpu_dequantize_eval(struct gpu_eval *c, struct assay_error *err) {
  return run(c, "dequantize", err);
}

// The least and the greatest element; 0 of none.
static enum assay_status extremes(struct gpu_eval *c, double *both, struct assay_error *err) {
  int64_t n = shape_count(&c->in[0]->shape);
  device_ptr at = 0;
  both[0] = both[1] = 0;
  enum assay_status status = n ? gpu_scratch(c, 2, &at, err) : ASSAY_OK;
  for (int k = 0; n && k < 2 && !status; k++) {
    struct gpu_reduction r = {.rows = gpu_rows_dense(1, n),
                              .x = gpu_ref_of(c->in[0]),
                              .term = k ? GPU_TERM_MAX : GPU_TERM_MIN,
                              .finish = REDUCE_FINISH_VALUE,
                              .phase = (uint64_t)k + 1,
                              .y = at + (device_ptr)k * 8};
    status = gpu_reduce(c, &r, err);
  }
  return status || !n ? status : compute_download(c->compute, both, at, 2 * sizeof *both, err);
}

enum assay_status gpu_dynamic_quantize_eval(struct gpu_eval *c, struct assay_error *err) {
  double both[2], zero;
  enum assay_status status = extremes(c, both, err);
  if (status)
    return status;
  double scale = quantize_dynamic(&c->arith, both[0], both[1], &zero);
  int64_t zero_word = (int64_t)zero;
  device_ptr scale_at = c->out[1].data, zero_at = c->out[2].data;
  if (!scale_at)
    status = gpu_scratch(c, 1, &scale_at, err);
  if (!status && !zero_at)
    status = gpu_scratch(c, 1, &zero_at, err);
  if (!status)
    status = compute_upload(c->compute, scale_at, &scale, sizeof scale, err);
  if (!status)
    status = compute_upload(c->compute, zero_at, &zero_word, sizeof zero_word, err);
  struct quantize_args a = {.quotient = convert_type_of(DTYPE_FLOAT),
                            .scale = gpu_ref_f64(scale_at),
                            .zero = {.data = zero_at, .storage = GPU_I64}};
  return status ? status : launch(c, "quantize", &a, err);
}
