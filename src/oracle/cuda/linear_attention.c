// SPDX-License-Identifier: Apache-2.0
// LinearAttention on a device.
#include "ops/linear_attention.h"

#include "oracle/cuda/gpu_table.h"
#include "oracle/cuda/linear_attention_args.h"
#include "oracle/cuda/rows.h"

extern const char code_linear_attention_args[], code_linear_attention[];
static const struct device_code program = {
    "linear_attention",
    (const char *const[]){GPU_COMMON_TEXTS, code_linear_attention_args, code_linear_attention, NULL}, false};

static struct gpu_ref given(const struct gpu_eval *c, int i) {
  return i < c->n_in && c->in[i] ? gpu_ref_of(c->in[i]) : (struct gpu_ref){0};
}

enum assay_status gpu_linear_attention_eval(struct gpu_eval *c, struct assay_error *err) {
  struct gpu_node_view v;
  struct linear_attention l;
  enum assay_status status = gpu_node_view_init(&v, c, 0, err);
  if (!status)
    status = linear_attention_read(&v.infer, &l, err);
  gpu_node_view_release(&v);
  if (status)
    return status;
  struct linear_attention_args a = {.q = given(c, LINEAR_Q),
                                    .k = given(c, LINEAR_K),
                                    .v = given(c, LINEAR_V),
                                    .past = given(c, LINEAR_PAST),
                                    .decay = given(c, LINEAR_DECAY),
                                    .beta = given(c, LINEAR_BETA),
                                    .arith = gpu_arith_of(&c->arith),
                                    .y = c->out[0].data,
                                    .state = c->n_out > 1 ? c->out[1].data : 0,
                                    .count = l.batch * l.kv_heads * l.value,
                                    .length = l.length,
                                    .q_heads = l.q_heads,
                                    .kv_heads = l.kv_heads,
                                    .key = l.key,
                                    .value = l.value,
                                    .decays = l.decays,
                                    .betas = l.betas,
                                    .scale = l.scale};
  status = gpu_scratch(c, a.count * l.key, &a.columns, err);
  return status ? status : compute_launch(c->compute, &program, "linear_attention", a.count, &a, sizeof a, err);
}
