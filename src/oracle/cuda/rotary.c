// SPDX-License-Identifier: Apache-2.0
// RotaryEmbedding on a device.
#include "ops/rotary.h"

#include "oracle/cuda/gpu_table.h"
#include "oracle/cuda/rotary_args.h"
#include "oracle/cuda/rows.h"

extern const char code_rotary_args[], code_rotary[];
static const struct device_code program = {
    "rotary", (const char *const[]){GPU_COMMON_TEXTS, code_rotary_args, code_rotary, NULL}, false};

enum assay_status gpu_rotary_eval(struct gpu_eval *c, struct assay_error *err) {
  struct gpu_node_view v;
  struct rotary r;
  int64_t at = -1;
  enum assay_status status = gpu_node_view_init(&v, c, 0, err);
  if (!status)
    status = rotary_read(&v.infer, &r, err);
  gpu_node_view_release(&v);
  if (status)
    return status;
  struct rotary_args a = {.x = gpu_ref_of(c->in[ROTARY_X]),
                          .cos = gpu_ref_of(c->in[ROTARY_COS]),
                          .sin = gpu_ref_of(c->in[ROTARY_SIN]),
                          .arith = gpu_arith_of(&c->arith),
                          .y = c->out[0].data,
                          .count = shape_count(&c->out[0].shape),
                          .heads = r.heads,
                          .length = r.length,
                          .size = r.size,
                          .rotated = r.rotated,
                          .half = r.half,
                          .rows = r.positions,
                          .heads_inside = r.heads_inside,
                          .interleaved = r.interleaved};
  if (r.indexed)
    a.positions = gpu_ref_of(c->in[ROTARY_POSITIONS]);
  status = gpu_bad_make(c, &a.bad, err);
  if (!status)
    status = compute_launch(c->compute, &program, "rotary", a.count, &a, sizeof a, err);
  if (!status && r.indexed)
    status = gpu_bad_read(c, a.bad, &at, err);
  if (!status && at >= 0)
    return op_invalid(c->node, err, "position %lld is not among %lld",
                      (long long)gpu_input_integer(c, ROTARY_POSITIONS, at), (long long)r.positions);
  return status;
}
